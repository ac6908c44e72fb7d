/** What a program is to an autoscaler that scales by latency. */
export type SoftwareClass = "stateful" | "infrastructure" | "load" | "sidecar";

/**
 * Repositories of well-known images, by the last part of their name or by owner and last part where the last part alone is a
 * usual word. A name counts as a whole: `redis-cache-warmer` is no Redis.
 */
const REPOSITORIES: Readonly<Record<SoftwareClass, string>> = {
  stateful: `
    postgres postgresql postgresql-repmgr postgresql-ha postgis timescaledb timescaledb-ha pgvector crunchy-postgres
    supabase/postgres citus cockroach yugabyte mysql mysql-server mysql-cluster mysql/community-server mariadb mariadb-galera
    percona percona-server percona-xtradb-cluster percona-server-mongodb vitess/lite tidb tikv
    mongo mongodb mongodb-sharded mongodb-community-server mongodb-enterprise-server mongodb-atlas-local ferretdb
    documentdb-local azure-cosmos-emulator redis redis-stack redis-stack-server redis-cluster redis-sentinel redis-server rejson
    keydb valkey valkey-cluster valkey-bundle dragonflydb/dragonfly microsoft/garnet kvrocks tarantool memcached memcache hazelcast
    apacheignite/ignite aerospike-server infinispan/server couchdb couchbase couchbase/server cassandra dse-server scylla hbase
    elasticsearch elasticsearch-oss opensearch solr meilisearch typesense quickwit manticore zincsearch qdrant weaviate
    milvusdb/milvus chromadb/chroma chroma-core/chroma surrealdb arangodb orientdb neo4j dgraph janusgraph memgraph memgraph-platform
    clickhouse clickhouse-server apache/druid apachepinot/pinot questdb influxdb influxdb2 victoria-metrics cratedb library/crate
    rethinkdb rqlite eventstore eventstoredb kurrentdb immudb tigerbeetle greptimedb tdengine iotdb opentsdb graphite-statsd
    mssql/server mssql-server azure-sql-edge oracle-xe oracle-free database/free database/express
    database/enterprise db2 firebird dynamodb-local aws-dynamodb-local localstack localstack-pro azurite fake-gcs-server
    cloud-pubsub-emulator gcloud-pubsub-emulator cloud-spanner-emulator/emulator elasticmq elasticmq-native motoserver/moto s3mock minio seaweedfs dxflrs/garage ceph
    kafka kafka-native cp-kafka cp-server cp-zookeeper cp-schema-registry cp-ksqldb-server ksqldb-server schema-registry karapace
    apicurio-registry apicurio-registry-mem apicurio-registry-sql apicurio-registry-kafkasql zookeeper redpanda rabbitmq
    rabbitmq-server lavinmq activemq activemq-classic activemq-artemis activemq-artemis-broker nats nats-server nats-streaming
    apachepulsar/pulsar apachepulsar/pulsar-all nsq nsqd beanstalkd mosquitto eclipse-mosquitto emqx hivemq hivemq4 vernemq
    rocketmq solace-pubsub-standard ibm-messaging/mq etcd library/consul hashicorp/consul bitnami/consul library/vault
    hashicorp/vault bitnami/vault openbao library/registry distribution/registry nexus nexus3 artifactory artifactory-oss
    artifactory-pro chartmuseum verdaccio gitea forgejo gitlab-ce gitlab-ee gitaly jenkins sonarqube openldap lldap nfs-server
    mailhog mailpit maildev inbucket smtp4dev namenode datanode alluxio zeebe seata-server configurable-http-proxy
    spilo apache/doris sphinxsearch manticoresearch vespaengine/vespa marqoai/marqo lancedb axonserver vitess/vttablet
    pingcap/pd cass-management-api harbor-db redis-photon registry-photon fast-data-dev debezium/example-postgres
    debezium/example-mysql debezium/example-mongodb cp-kafka-connect debezium/connect apache/nifi apache/flink flink
    trinodb/trino prestodb/presto apache/ozone juicefs/mount bookkeeper apache/bookkeeper pravega/pravega ledgerdb
    mssql-server-linux nextcloud owncloud wordpress drupal joomla ghost mediawiki moodle redmine matomo gogs vaultwarden
    foundationdb risingwave materialized hivemq-ce memphisos/memphis zenko/cloudserver scality/s3server vmsingle
    starrocks/allin1-ubuntu aerospike libsql-server pocketbase mariadb/server streamnative/pulsar streamnative/pulsar-all
    mattermost-team-edition mattermost-enterprise-edition rocket.chat livekit-server coturn jitsi/jvb library/docker
    moby/buildkit jupyter/base-notebook jupyter/minimal-notebook jupyter/scipy-notebook code-server n8n node-red
    selenium/hub selenium/node-chrome selenium/node-chromium selenium/node-firefox selenium/node-edge mailcatcher`,
  infrastructure: `
    jaegertracing/all-in-one jaegertracing/jaeger jaegertracing/example-all-in-one jaeger jaeger-collector jaeger-query
    jaeger-agent jaeger-ingester zipkin zipkin-slim zipkin-server grafana/tempo tempo-query grafana/loki grafana/mimir
    grafana/pyroscope grafana/promtail grafana/agent grafana/alloy grafana grafana-oss grafana-enterprise
    grafana-image-renderer grafana-tempo grafana-loki otel-lgtm opentelemetry-collector opentelemetry-collector-contrib
    opentelemetry-collector-k8s otelcol otel-collector aws-otel-collector splunk-otel-collector opentelemetry-operator
    skywalking-oap-server skywalking-ui signoz signoz/frontend signoz-otel-collector hyperdx uptrace openobserve apm-server
    pinpoint-collector pinpoint-web prometheus alertmanager pushgateway prometheus-operator thanos cortexproject/cortex
    kube-state-metrics metrics-server node-exporter node_exporter blackbox-exporter statsd-exporter cadvisor kiali kiali-operator
    heapster heapster-grafana heapster-influxdb vmagent vmalert vminsert vmselect vmstorage netdata telegraf statsd/statsd collectd
    fluentd fluent-bit logstash logstash-oss filebeat metricbeat beats/heartbeat packetbeat auditbeat elastic-agent kibana
    kibana-oss opensearch-dashboards graylog timberio/vector datalust/seq datadog/agent datadoghq/agent cluster-agent
    newrelic-infrastructure oneagent wavefronthq/proxy opencensus-collector eureka eureka-server nacos nacos-server
    spring-boot-admin adminer phpmyadmin pgadmin4 pgadmin mongo-express redis-commander redisinsight phpredisadmin kafka-ui
    kafka-manager kafdrop akhq cmak cloudbeaver istio/pilot istio/mixer istio/galley istio/citadel keda keda-metrics-apiserver
    cert-manager-controller cert-manager-webhook cert-manager-cainjector external-dns external-secrets argocd argo-rollouts
    fluxcd/flagger kubernetes-dashboard kubernetesui/dashboard kubernetesui/dashboard-web kubernetesui/dashboard-api dashboard-metrics-scraper portainer portainer-ce cluster-autoscaler descheduler
    stakater/reloader pgbouncer pgpool proxysql twemproxy maxscale sentinel-dashboard ingress-nginx/controller
    nginx-ingress-controller nginx/nginx-ingress aws-load-balancer-controller wiremock mockserver hoverfly toxiproxy tradewind-agent tradewind-predictor tradewind-exporter
    tradewind-scaler grafana/beyla coroot/coroot deepflow-server ebpf-profiler temporalio/auto-setup temporalio/server temporalio/ui temporalio/admin-tools mher/flower
    cp-enterprise-control-center cp-enterprise-control-center-next-gen signoz/query-service supabase/studio hazelcast/management-center redpandadata/console mysql-router vpa-recommender
    vpa-updater vpa-admission-controller coredns velero gatekeeper kyverno karpenter/controller workflow-controller
    argoexec fluxcd/source-controller fluxcd/kustomize-controller fluxcd/helm-controller fluxcd/notification-controller
    sealed-secrets-controller kserve-controller longhorn-manager nfs-subdir-external-provisioner falco trivy
    cloud-controller-manager csi-provisioner crunchy-pgbouncer`,
  load: `
    locust loadimpact/k6 grafana/k6 vegeta rakyll/hey williamyeh/hey wrk wrk2 fortio/fortio ghz jmeter jmeter-master jmeter-slave
    gatling blazemeter/taurus artillery nighthawk nighthawk-dev tsung iperf3 slow_cooker`,
  sidecar: `
    istio/proxyv2 linkerd2-proxy linkerd/proxy linkerd-proxy cloud-sql-proxy cloudsql-docker/gce-proxy alloydb-auth-proxy
    oauth2-proxy oauth2_proxy kube-rbac-proxy k8s-sidecar git-sync configmap-reload daprd consul-dataplane vault-k8s
    aws-xray-daemon redis_exporter redis-exporter mysqld-exporter mysqld_exporter postgres-exporter postgres_exporter
    mongodb-exporter mongodb_exporter memcached-exporter memcached_exporter kafka-exporter nginx-prometheus-exporter
    nginx-exporter php-fpm_exporter nats-server-config-reloader csi-node-driver-registrar`,
};

interface KnownImage {
  readonly class: SoftwareClass;
  /** As the list names it. */
  readonly repository: string;
}

const KNOWN = new Map<string, KnownImage>(
  (Object.keys(REPOSITORIES) as SoftwareClass[]).flatMap((kind) =>
    REPOSITORIES[kind]
      .split(/\s+/)
      .filter((repository) => repository !== "")
      .map((repository): [string, KnownImage] => [repository, { class: kind, repository }]),
  ),
);

/** What the end of an image's name says of its base or its processor, not of the program. */
const BUILD =
  /^(?:\d+|c\d+s|el\d+|ubi\d+|rhel\d+|centos\d+|alpine|debian|bullseye|bookworm|amd64|arm64|arm64v8|x86_64|linux)$/;
const MAX_IMAGE = 500;

/** The parts of an image's repository without registry, tag and digest: `ghcr.io/shop/cart:1` is `shop`, `cart`. */
export function repositoryOf(image: string): string[] {
  const [path = ""] = image.slice(0, MAX_IMAGE).toLowerCase().split("@", 1);
  const parts = path.split("/");
  const last = (parts.pop() ?? "").split(":", 1)[0] ?? "";
  const [registry, ...owners] = parts;
  const isRegistry =
    registry !== undefined && (registry.includes(".") || registry.includes(":") || registry === "localhost");
  return [...(isRegistry ? owners : parts), last];
}

/** What an image is, by the whole name of its repository; undefined for what is not well known. */
export function knownImage(image: string): KnownImage | undefined {
  const parts = repositoryOf(image);
  const last = parts.at(-1) ?? "";
  const words = last.split("-");
  while (words.length > 1 && BUILD.test(words.at(-1) ?? "")) words.pop();
  const bare = words.join("-");
  const owner = parts.at(-2) ?? "library";
  return KNOWN.get(`${owner}/${last}`) ?? KNOWN.get(last) ?? KNOWN.get(`${owner}/${bare}`) ?? KNOWN.get(bare);
}

/** Ports that belong to one protocol of a database, cache or broker, and to hardly anything else. */
export const STATE_PORTS: ReadonlyMap<number, string> = new Map([
  [389, "LDAP"],
  [636, "LDAP"],
  [1414, "IBM MQ"],
  [1433, "SQL Server"],
  [1521, "Oracle"],
  [1883, "MQTT"],
  [2049, "NFS"],
  [2181, "ZooKeeper"],
  [2379, "etcd"],
  [2380, "etcd"],
  [3050, "Firebird"],
  [3306, "MySQL"],
  [33_060, "MySQL"],
  [4222, "NATS"],
  [5432, "PostgreSQL"],
  [5671, "AMQP"],
  [5672, "AMQP"],
  [5984, "CouchDB"],
  [6379, "Redis"],
  [6650, "Pulsar"],
  [7687, "Neo4j"],
  [8883, "MQTT"],
  [8529, "ArangoDB"],
  [9042, "Cassandra"],
  [9300, "Elasticsearch"],
  [10_260, "DocumentDB"],
  [11_210, "Couchbase"],
  [11_211, "memcached"],
  [19_530, "Milvus"],
  [26_257, "CockroachDB"],
  [26_379, "Redis Sentinel"],
  [27_017, "MongoDB"],
  [27_018, "MongoDB"],
  [27_019, "MongoDB"],
  [28_015, "RethinkDB"],
  [61_613, "STOMP"],
  [61_616, "ActiveMQ"],
]);

/** Ports by which telemetry comes in, and at which it is looked at. */
export const TELEMETRY_PORTS: ReadonlyMap<number, string> = new Map([
  [2878, "Wavefront"],
  [4317, "OTLP"],
  [4318, "OTLP"],
  [5775, "Jaeger"],
  [6831, "Jaeger"],
  [6832, "Jaeger"],
  [8125, "StatsD"],
  [9411, "Zipkin"],
  [12_201, "GELF"],
  [14_250, "Jaeger"],
  [14_267, "Jaeger"],
  [14_268, "Jaeger"],
  [16_686, "Jaeger"],
  [24_224, "Fluentd"],
]);

/** Folders in which well-known servers keep their data. */
export const DATA_FOLDERS: readonly string[] = [
  "/bitnami/kafka",
  "/bitnami/mariadb",
  "/bitnami/mongodb",
  "/bitnami/mysql",
  "/bitnami/postgresql",
  "/bitnami/rabbitmq",
  "/bitnami/redis",
  "/data/configdb",
  "/data/db",
  "/opt/oracle/oradata",
  "/usr/share/elasticsearch/data",
  "/usr/share/opensearch/data",
  "/var/lib/cassandra",
  "/var/lib/clickhouse",
  "/var/lib/couchbase",
  "/var/lib/couchdb",
  "/var/lib/etcd",
  "/var/lib/influxdb",
  "/var/lib/influxdb2",
  "/var/lib/kafka",
  "/var/lib/mongo",
  "/var/lib/mongodb",
  "/var/lib/mysql",
  "/var/lib/neo4j",
  "/var/lib/pgsql",
  "/var/lib/postgres",
  "/var/lib/postgresql",
  "/var/lib/rabbitmq",
  "/var/lib/redis",
  "/var/lib/registry",
  "/var/lib/scylla",
  "/var/lib/zookeeper",
  "/var/opt/mssql",
];

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((word) => word !== ""));

/** Variables that a server reads and its clients do not. */
export const SERVER_VARIABLES = words(`
  PGDATA POSTGRES_INITDB_ARGS MONGO_INITDB_ROOT_USERNAME MONGO_INITDB_DATABASE RABBITMQ_ERLANG_COOKIE ZOO_MY_ID
  KAFKA_ADVERTISED_LISTENERS KAFKA_PROCESS_ROLES KAFKA_CFG_PROCESS_ROLES KAFKA_BROKER_ID KAFKA_NODE_ID ZOOKEEPER_CLIENT_PORT CASSANDRA_SEEDS
  MSSQL_PID MYSQL_ROOT_HOST MYSQL_ALLOW_EMPTY_PASSWORD MARIADB_ALLOW_EMPTY_ROOT_PASSWORD ALLOW_EMPTY_PASSWORD NEO4J_AUTH
  DOCKER_INFLUXDB_INIT_MODE discovery.type cluster.initial_master_nodes`);

/** What a port is named after by which a store or broker is spoken to. */
export const STATE_PORT_WORDS = words(`
  mysql mysqlx mariadb postgres postgresql pgsql redis valkey mongo mongodb memcached memcache cassandra cql amqp amqps mqtt mqtts
  kafka ldap ldaps zookeeper etcd mssql tds`);
/** What else such a port is for, where its name says that too. */
export const OTHER_PORT_WORDS = words(`
  http https http2 grpc web ui api rest admin proxy bridge metrics exporter prometheus health ws`);

/** Programs that keep data, by the name of their file. */
export const SERVER_PROGRAMS = words(`
  redis-server redis-sentinel valkey-server keydb-server memcached mysqld mysqld_safe mariadbd mongod mongos postgres cockroach etcd
  nats-server rabbitmq-server kafka-server-start kafka-server-start.sh zookeeper-server-start.sh zkServer.sh clickhouse-server
  influxd minio cassandra scylla arangod rethinkdb neo4j mosquitto emqx redpanda dolt weed`);

/** Variables of a server that clients are sometimes given too: hints alone. */
export const SERVER_HINT_VARIABLES = words(`
  MYSQL_ROOT_PASSWORD MARIADB_ROOT_PASSWORD POSTGRES_PASSWORD POSTGRES_DB MONGODB_ROOT_PASSWORD RABBITMQ_DEFAULT_USER
  MINIO_ROOT_USER MSSQL_SA_PASSWORD`);

/** What a name ends in that is the name of a store. It is a hint alone. */
export const STORE_WORDS = words(`
  emulator db database mongo mongodb mysql mariadb postgres postgresql postgis psql pgsql redis valkey keydb memcached memcache cassandra
  scylla scylladb cockroach cockroachdb couchdb couchbase dynamodb documentdb timescaledb influxdb clickhouse elasticsearch
  opensearch solr neo4j etcd zookeeper kafka redpanda rabbitmq rabbit activemq artemis nats pulsar mosquitto emqx minio mssql
  sqlserver oracledb openldap qdrant milvus weaviate hazelcast pgbouncer pgpool proxysql`);

/** Ports that say little alone, with the words that a name ends in beside which they do. */
export const STORE_HINT_PORTS: ReadonlyMap<number, ReadonlySet<string>> = new Map([
  [6333, words("qdrant")],
  [8000, words("dynamodb")],
  [8086, words("influxdb")],
  [8123, words("clickhouse")],
  [8161, words("activemq artemis")],
  [8983, words("solr")],
  [9000, words("minio clickhouse")],
  [9092, words("kafka redpanda")],
  [9093, words("kafka redpanda")],
  [9200, words("elasticsearch opensearch")],
]);

/** The same of what serves the cluster or whoever runs it. */
export const INFRASTRUCTURE_HINT_PORTS: ReadonlyMap<number, ReadonlySet<string>> = new Map([
  [3000, words("grafana")],
  [3100, words("loki")],
  [3200, words("tempo")],
  [5000, words("logstash")],
  [5044, words("logstash")],
  [5601, words("kibana")],
  [8500, words("consul")],
  [8761, words("eureka discovery registry")],
  [8848, words("nacos")],
  [8888, words("otelcol")],
  [9090, words("prometheus")],
  [9091, words("pushgateway")],
  [9093, words("alertmanager")],
  [9102, words("statsd exporter")],
  [55_678, words("collector otelcol")],
]);

/** What a name ends in that has to do with the place or role of a workload, not with what it is. */
export const ROLE_WORDS = words(`
  service svc server deployment deploy master slave replica replicas primary secondary leader follower main standalone node
  cluster statefulset sts ha instance prod production dev staging v1 v2 v3 v4 0 1 2 3`);

/** Programs that make load, by the name of their file. */
export const LOAD_PROGRAMS = words("ab artillery gatling ghz hey k6 locust oha siege vegeta wrk wrk2");
/** Programs that ask for one page each time they are started. */
export const PAGE_PROGRAMS = words("curl wget grpcurl");

/** What a load generator is called, whole words of its name joined by `-`. */
export const LOAD_NAMES: readonly string[] = [
  "load-generator",
  "loadgenerator",
  "load-gen",
  "loadgen",
  "load-test",
  "loadtest",
  "load-tester",
  "loadtester",
  "locust",
  "traffic-generator",
  "trafficgenerator",
  "traffic-gen",
  "trafficgen",
  "jmeter",
  "gatling",
  "k6",
  "wrk2",
  "vegeta",
  "user-simulator",
  "usersimulator",
  "stress-test",
  "benchmark-client",
  "load-simulator",
];
