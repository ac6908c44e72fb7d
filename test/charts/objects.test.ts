import { beforeAll, describe, expect, it } from "vitest";
import { at, CASES, find, helm, objectsOf, render, template, valuesOf } from "./helm.ts";
import type { KubernetesObject } from "./helm.ts";
import { namespaces, startLookupServer } from "./lookup-server.ts";

const rendered = new Map<string, KubernetesObject[]>();
const of = (name: string): KubernetesObject[] => rendered.get(name)!;

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly securityContext: Record<string, unknown>;
  readonly ports?: readonly { name: string; containerPort: number }[];
  readonly readinessProbe?: unknown;
  readonly resources: { requests?: unknown; limits?: { memory?: string } };
  readonly volumeMounts?: readonly { name: string; mountPath: string; readOnly?: boolean }[];
}

interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

interface Pod {
  readonly containers: readonly Container[];
  readonly volumes?: readonly {
    name: string;
    hostPath?: { path: string };
    secret?: { secretName: string; items?: readonly { key: string; path: string }[] };
    projected?: {
      sources: readonly { secret?: { name: string; items: readonly { key: string; path: string }[] } }[];
    };
  }[];
  readonly [field: string]: unknown;
}

/** Pod spec of an object, whatever its kind. */
const podOf = (object: KubernetesObject): Pod | undefined =>
  (object.kind === "Pod" ? at(object, "spec") : at(object, "spec", "template", "spec")) as Pod | undefined;

const container = (object: KubernetesObject, name: string): Container =>
  podOf(object)!.containers.find((each) => each.name === name)!;

const namesWith = (objects: readonly KubernetesObject[], name: string): string[] =>
  objects.filter(({ metadata }) => metadata.name === name).map(({ kind }) => kind);

/** Whom a container runs as: its own user goes before the pod's. */
const userOf = (pod: Pod, own: Record<string, unknown>): unknown =>
  own["runAsUser"] ?? at(pod, "securityContext", "runAsUser");

/** Where in a container the token of its service account is mounted from. */
const tokenVolume = (object: KubernetesObject, name: string): unknown => {
  const folder = "/var/run/secrets/kubernetes.io/serviceaccount";
  const mount = container(object, name).volumeMounts!.find(({ mountPath }) => mountPath === folder);
  return podOf(object)!.volumes!.find((volume) => volume.name === mount?.name);
};

describe.skipIf(helm === undefined)("what the chart renders", () => {
  beforeAll(async () => {
    await Promise.all(CASES.map(async (name) => rendered.set(name, await render(name))));
  }, 60_000);

  it("listens on the port that ScaledObjects name, since a headless Service translates no port", async () => {
    const [name = ""] = CASES;
    const objects = await render(name, "--set", "scaler.service.grpcPort=19813");
    const scaler = objects.find((each) => podOf(each)?.containers.some((one) => one.name === "exporter"));
    const { args, ports } = container(scaler!, "exporter");
    expect(args?.find((arg) => arg.startsWith("--grpc-listen="))).toMatch(/:19813$/);
    expect(ports?.find((port) => port.name === "grpc")?.containerPort).toBe(19_813);
  });

  it("takes registry and tag of all images from global.image, and those of a component before them", async () => {
    const set = [
      "global.image.registry=registry.example.com/team",
      "global.image.tag=9.9",
      "agent.image.tag=8.8",
      "predictor.image.registry=other.example.com",
    ];
    const objects = await render("minimal", "--set", set.join(","));
    const images = objects.flatMap((object) => podOf(object)?.containers?.map(({ image }) => image) ?? []);
    expect(new Set(images)).toEqual(
      new Set([
        "registry.example.com/team/tradewind-agent:8.8",
        "registry.example.com/team/tradewind-exporter:9.9",
        "other.example.com/tradewind-predictor:9.9",
      ]),
    );
  });

  it.each(CASES)("%s: every container is locked down", (name) => {
    const pods = of(name).flatMap((object) => podOf(object) ?? []);
    expect(pods.length).toBeGreaterThan(0);
    for (const pod of pods) {
      expect(pod["securityContext"]).toMatchObject({
        runAsNonRoot: true,
        runAsUser: expect.any(Number) as number,
        seccompProfile: { type: "RuntimeDefault" },
      });
      const users = pod.containers.map(({ securityContext }) => userOf(pod, securityContext));
      expect(new Set(users).size, "users of one pod").toBe(users.length);
      expect(users).not.toContain(65_534);
      expect(pod["hostPID"] ?? pod["hostIPC"] ?? pod["hostNetwork"] ?? false).toBe(false);
      for (const each of pod.containers) {
        expect(each.securityContext).toMatchObject({
          allowPrivilegeEscalation: false,
          capabilities: { drop: ["ALL"] },
          readOnlyRootFilesystem: true,
        });
        expect(each.resources.requests).toBeDefined();
        expect(each.resources.limits?.memory).toBeDefined();
      }
    }
  });

  it.each(CASES)("%s: all objects say whose they are, and names do not collide", (name) => {
    const seen = new Set<string>();
    for (const { kind, metadata } of of(name)) {
      const id = `${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
      expect(seen.has(id), `object ${id}`).toBe(false);
      seen.add(id);
      expect(metadata.name.length, `object ${id}`).toBeLessThanOrEqual(63);
      const own = !metadata.name.endsWith("-extra");
      expect(metadata.labels?.["app.kubernetes.io/instance"], `object ${id}`).toBe(
        own ? "tradewind" : undefined,
      );
    }
  });

  it.each(CASES)("%s: every selector finds the pods it means", (name) => {
    const labels = of(name)
      .filter(({ kind }) => ["Deployment", "StatefulSet", "DaemonSet"].includes(kind))
      .map((object) => at(object, "spec", "template", "metadata", "labels") as Record<string, string>);
    for (const object of of(name)) {
      const selector =
        object.kind === "Service"
          ? (at(object, "spec", "selector") as Record<string, string>)
          : ((at(object, "spec", "podSelector", "matchLabels") as Record<string, string> | undefined) ??
            (at(object, "spec", "selector", "matchLabels") as Record<string, string> | undefined));
      if (selector === undefined || object.kind === "ServiceMonitor") continue;
      const found = labels.filter((each) =>
        Object.entries(selector).every(([label, value]) => each[label] === value),
      );
      expect(found, `${object.kind} ${object.metadata.name}`).toHaveLength(1);
    }
  });

  it.each(CASES)("%s: every port that is named exists", (name) => {
    const pods = of(name).flatMap((object) => podOf(object) ?? []);
    const names = new Set(
      pods.flatMap(({ containers }) =>
        containers.flatMap(({ ports }) => (ports ?? []).map((port) => port.name)),
      ),
    );
    const ofKind = (kind: string) => of(name).filter((object) => object.kind === kind);
    const targets = ofKind("Service").flatMap((object) =>
      (at(object, "spec", "ports") as { targetPort: string }[]).map(({ targetPort }) => targetPort),
    );
    const allowed = ofKind("NetworkPolicy").flatMap((object) =>
      (at(object, "spec", "ingress") as { ports: { port: string }[] }[]).flatMap(({ ports }) =>
        ports.map(({ port }) => port),
      ),
    );
    for (const port of [...targets, ...allowed]) expect(names, `port ${port}`).toContain(port);
  });

  it("has predictors prove a secret to each other, on a port that is open to nobody else", () => {
    for (const name of ["minimal", "full"]) {
      const kind = name === "full" ? "StatefulSet" : "Deployment";
      const workload = find(of(name), kind, "tradewind-scaler");
      expect(container(workload, "predictor").args).toEqual(
        expect.arrayContaining([
          "--peers=dns+http://tradewind-peers.tradewind.svc:9814",
          "--peers-secret-file=/etc/tradewind/peers/secret",
        ]),
      );
      const volume = podOf(workload)!.volumes!.find((each) => each.name === "peers");
      expect(volume?.secret).toMatchObject({
        secretName: "tradewind-peers-token",
        items: [{ key: "token", path: "secret" }],
      });
      const secret = find(of(name), "Secret", "tradewind-peers-token");
      expect(at(secret, "type")).toBe("kubernetes.io/service-account-token");
      expect(at(secret, "metadata", "annotations", "kubernetes.io/service-account.name")).toBe(
        "tradewind-peers",
      );
      const bound = of(name).filter(({ kind }) => kind.endsWith("RoleBinding"));
      expect(bound.map((each) => at(each, "subjects", 0, "name"))).not.toContain("tradewind-peers");
      const service = find(of(name), "Service", "tradewind-peers");
      expect(at(service, "spec", "publishNotReadyAddresses") ?? false).toBe(false);
    }
    const rules = at(find(of("full"), "NetworkPolicy", "tradewind-scaler"), "spec", "ingress") as {
      from: { podSelector?: { matchLabels: Record<string, string> } }[];
      ports: { port: string }[];
    }[];
    const open = rules.filter(({ ports }) => ports.some(({ port }) => port === "peers"));
    const components = open.flatMap(({ from }) =>
      from.map(({ podSelector }) => podSelector?.matchLabels["app.kubernetes.io/component"]),
    );
    expect(components).toEqual(["scaler"]);
    const clients = rules.filter(({ ports }) => ports.some(({ port }) => port === "otlp-http"));
    expect(JSON.stringify(clients)).not.toContain('"scaler"');
  });

  it("renders the same bytes twice, whatever the values", async () => {
    // A chart that makes certificates itself makes others each time; its values say so.
    for (const name of CASES.filter((each) => each !== "mtls-generated"))
      expect({ name, objects: await render(name) }).toEqual({ name, objects: of(name) });
  });

  it("keeps the peers' secret that an earlier release made, in the cluster that is upgraded", async () => {
    const secret = { kind: "Secret", apiVersion: "v1", data: { secret: "S2VwdCBmcm9tIGJlZm9yZQ==" } };
    const { kubeconfig } = await startLookupServer(
      new Map([
        ...namespaces("tradewind", "shop"),
        ["/api/v1/namespaces/tradewind/secrets/tradewind-peers", secret],
      ]),
    );
    const objects = await render("minimal", "--dry-run=server", "--kubeconfig", kubeconfig);
    expect(find(objects, "Secret", "tradewind-peers")).toMatchObject({ type: "Opaque", data: secret.data });
    const workload = find(objects, "Deployment", "tradewind-scaler");
    expect(podOf(workload)!.volumes!.find(({ name }) => name === "peers")?.secret).toMatchObject({
      secretName: "tradewind-peers",
      items: [{ key: "secret", path: "secret" }],
    });
    expect(namesWith(objects, "tradewind-peers-token")).toEqual([]);
  });

  it("takes the peers' secret of the operator where one is named, and makes none", async () => {
    const objects = await render("minimal", "--set", "predictor.peers.existingSecret=mine");
    expect(namesWith(objects, "tradewind-peers-token")).toEqual([]);
    const workload = find(objects, "Deployment", "tradewind-scaler");
    expect(podOf(workload)!.volumes!.find(({ name }) => name === "peers")?.secret).toMatchObject({
      secretName: "mine",
      items: [{ key: "secret", path: "secret" }],
    });
  });

  it("needs no secret with a single predictor", async () => {
    const single = ["scaler.replicas=1", "scaler.podDisruptionBudget.enabled=false"];
    const objects = await render("minimal", "--set", single.join());
    expect(namesWith(objects, "tradewind-peers-token")).toEqual([]);
    const workload = find(objects, "Deployment", "tradewind-scaler");
    expect(container(workload, "predictor").args!.join()).not.toContain("--peers");
  });

  it.each(CASES)("%s: every file that a flag names is mounted into its container", (name) => {
    for (const object of of(name)) {
      const pod = podOf(object);
      for (const { args = [], volumeMounts = [] } of pod?.containers ?? []) {
        const files = args.flatMap((arg) => /^--[a-z.-]+=(\/etc\/tradewind\/\S+)$/.exec(arg)?.[1] ?? []);
        for (const file of files) {
          const mount = volumeMounts.find(({ mountPath }) => file.startsWith(`${mountPath}/`));
          const volume = pod?.volumes?.find((each) => each.name === mount?.name);
          const path = file.slice((mount?.mountPath.length ?? 0) + 1);
          const sources = volume?.projected?.sources ?? [];
          const paths = sources.flatMap(({ secret }) => (secret?.items ?? []).map((item) => item.path));
          const isWhole = volume?.projected === undefined && volume !== undefined;
          expect(isWhole || paths.includes(path), `${object.kind} ${object.metadata.name}: ${file}`).toBe(
            true,
          );
        }
      }
    }
  });

  it("gives each process the keys of its own ports, and of others no more than it needs to ask them", () => {
    const secrets = (object: KubernetesObject, volume: string): string[] => {
      const projected = podOf(object)!.volumes!.find(({ name }) => name === volume)?.projected;
      return (projected?.sources ?? []).flatMap(({ secret }) =>
        (secret?.items ?? []).map(({ key }) => `${secret?.name}/${key}`),
      );
    };
    const scaler = find(of("secured"), "Deployment", "tradewind-scaler");
    const own = (name: string, key = "token"): string[] => [
      `${name}-tls/tls.crt`,
      `${name}-tls/tls.key`,
      `${name}-token/${key}`,
    ];
    const shown = (name: string): string[] => [`${name}-tls/ca.crt`, `${name}-token/token`];
    expect(secrets(find(of("secured"), "DaemonSet", "tradewind-agent"), "agent-security")).toEqual(
      own("agent"),
    );
    expect(secrets(scaler, "exporter-security")).toEqual([
      ...own("page", "tokens"),
      ...shown("agent"),
      ...shown("predictor"),
    ]);
    expect(secrets(scaler, "predictor-security")).toEqual([
      ...own("predictor"),
      ...own("otlp"),
      "peers-tls/tls.crt",
      "peers-tls/tls.key",
      ...shown("agent"),
      "peers-tls/ca.crt",
    ]);
    for (const [name, others] of [
      ["exporter", "predictor-security"],
      ["predictor", "exporter-security"],
    ] as const) {
      const mounted = container(scaler, name).volumeMounts!.map((mount) => mount.name);
      expect(mounted).not.toContain(others);
    }
  });

  it("scrapes ports that speak TLS by the name of a Service that leads to them", () => {
    const monitors = of("secured").filter(({ kind }) => kind === "ServiceMonitor");
    const endpoints = monitors.map((monitor) => at(monitor, "spec", "endpoints", 0));
    expect(endpoints.map((endpoint) => at(endpoint, "tlsConfig", "serverName"))).toEqual([
      "tradewind-http.tradewind.svc",
      "tradewind-predictor-peers.tradewind.svc",
      "tradewind-agent.tradewind.svc",
    ]);
    for (const endpoint of endpoints) {
      const [service] = (at(endpoint, "tlsConfig", "serverName") as string).split(".");
      expect(find(of("secured"), "Service", service!)).toBeDefined();
      expect(at(endpoint, "scheme")).toBe("https");
      expect(at(endpoint, "authorization", "credentials", "key")).toBe("token");
    }
  });

  it.each(["ServiceMonitor", "PodMonitor"])(
    "has each %s show the token of the key that is named for it, since `token` holds two while one is renewed",
    async (kind) => {
      const isPods = kind === "PodMonitor";
      const set = [
        `metrics.podMonitor.enabled=${isPods},metrics.serviceMonitor.enabled=${!isPods}`,
        "scaler.http.monitorTokenKey=for-page",
        "predictor.http.monitorTokenKey=for-predictor",
        "agent.http.monitorTokenKey=for-agent",
      ];
      const objects = await render("secured", "--set", set.join());
      const credentials = objects
        .filter((each) => each.kind === kind)
        .map((monitor) =>
          at(
            monitor,
            "spec",
            isPods ? "podMetricsEndpoints" : "endpoints",
            0,
            "authorization",
            "credentials",
          ),
        );
      expect(credentials).toEqual([
        { name: "page-token", key: "for-page" },
        { name: "predictor-token", key: "for-predictor" },
        { name: "agent-token", key: "for-agent" },
      ]);
      const workloads = objects.filter((each) => ["DaemonSet", "Deployment"].includes(each.kind));
      expect(JSON.stringify(workloads)).not.toContain("for-");
    },
  );

  it("has monitors show the key `token` where an upgrade reuses the values of a release without monitorTokenKey", async () => {
    const keys = ["scaler", "predictor", "agent"].map((name) => `${name}.http.monitorTokenKey=null`);
    const objects = await render("secured", "--set", keys.join());
    const monitors = objects.filter(({ kind }) => kind === "ServiceMonitor");
    const shown = monitors.map((monitor) =>
      at(monitor, "spec", "endpoints", 0, "authorization", "credentials", "key"),
    );
    expect(shown).toEqual(["token", "token", "token"]);
  });

  it("never asks for nodes/proxy, Secrets, wildcards or pods/exec", () => {
    for (const name of CASES) {
      const rules = of(name).flatMap((object) => (at(object, "rules") as Rule[] | undefined) ?? []);
      const resources = rules.flatMap(({ resources }) => resources);
      const verbs = rules.flatMap(({ verbs }) => verbs);
      for (const resource of ["nodes/proxy", "secrets", "*", "pods/exec"])
        expect(resources).not.toContain(resource);
      for (const verb of ["*", "delete", "deletecollection", "escalate", "bind", "impersonate"]) {
        expect(verbs).not.toContain(verb);
      }
    }
  });

  it("runs agent, predictor and exporter as three users", () => {
    const agent = podOf(find(of("minimal"), "DaemonSet", "tradewind-agent"))!;
    const scaler = podOf(find(of("minimal"), "Deployment", "tradewind-scaler"))!;
    const users = [agent, scaler].flatMap((pod) =>
      pod.containers.map(({ securityContext }) => userOf(pod, securityContext)),
    );
    expect(users).toHaveLength(3);
    expect(new Set(users).size).toBe(3);
    // Both are in the group of the pod's volumes, and each sees its own part of the state alone.
    expect(at(scaler, "securityContext", "fsGroup")).toBe(29_813);
    const paths = scaler.containers.map(({ volumeMounts }) =>
      at(
        volumeMounts!.find(({ name }) => name === "state"),
        "subPath",
      ),
    );
    expect(paths).toEqual(["exporter", "predictor"]);
  });

  it("gives predictor and exporter tokens of two accounts", () => {
    const workload = find(of("resource"), "Deployment", "tradewind-scaler");
    expect(podOf(workload)).toMatchObject({ serviceAccountName: "tradewind-scaler" });
    const ofExporter = JSON.stringify(tokenVolume(workload, "exporter"));
    const ofPredictor = JSON.stringify(tokenVolume(workload, "predictor"));
    expect(ofExporter).toContain("serviceAccountToken");
    expect(ofExporter).not.toContain("secret");
    expect(ofPredictor).not.toContain("serviceAccountToken");
    expect(ofPredictor).toContain('"secret":{"name":"tradewind-predictor-token"');
    const secret = find(of("resource"), "Secret", "tradewind-predictor-token");
    expect(at(secret, "type")).toBe("kubernetes.io/service-account-token");
    expect(at(secret, "metadata", "annotations", "kubernetes.io/service-account.name")).toBe(
      find(of("resource"), "ServiceAccount", "tradewind-predictor").metadata.name,
    );
    expect(Object.keys(secret)).not.toContain("data");
  });

  it("makes no token Secret where predictor and exporter are given one account", async () => {
    const objects = await render(
      "minimal",
      "--set",
      "predictor.serviceAccount.create=false,predictor.serviceAccount.name=tradewind-scaler",
    );
    const secrets = objects.filter(({ kind }) => kind === "Secret").map(({ metadata }) => metadata.name);
    expect(secrets).not.toContain("tradewind-predictor-token");
    const workload = find(objects, "Deployment", "tradewind-scaler");
    expect(JSON.stringify(tokenVolume(workload, "predictor"))).toContain("serviceAccountToken");
    const bindings = objects.filter(({ kind }) => kind.endsWith("RoleBinding"));
    expect(new Set(bindings.map((binding) => at(binding, "subjects", 0, "name")))).toEqual(
      new Set(["tradewind-agent", "tradewind-scaler"]),
    );
  });

  it("gives a token only to containers that talk to the Kubernetes API", async () => {
    const minimal = find(of("minimal"), "Deployment", "tradewind-scaler");
    expect(podOf(minimal)!["automountServiceAccountToken"]).toBe(false);
    expect(tokenVolume(minimal, "exporter")).toBeUndefined();
    expect(tokenVolume(minimal, "predictor")).toBeDefined();
    const agent = async (...args: string[]): Promise<unknown> =>
      podOf(find(await render("minimal", ...args), "DaemonSet", "tradewind-agent"))![
        "automountServiceAccountToken"
      ];
    expect(await agent()).toBe(true);
    expect(await agent("--set", "agent.podNames.enabled=false")).toBe(false);
    const vpa = find(of("resource"), "Deployment", "tradewind-scaler");
    expect(tokenVolume(vpa, "exporter")).toBeDefined();
  });

  it("keeps the exporter reachable for KEDA when the predictor beside it has crashed", () => {
    const service = find(of("minimal"), "Service", "tradewind-scaler");
    expect(at(service, "spec")).toMatchObject({ clusterIP: "None", publishNotReadyAddresses: true });
    const workload = find(of("minimal"), "Deployment", "tradewind-scaler");
    expect(container(workload, "predictor").readinessProbe).toBeUndefined();
    expect(container(workload, "exporter").readinessProbe).toBeDefined();
    expect(podOf(workload)!["initContainers"]).toBeUndefined();
  });

  it("always runs two scalers, replaced one after the other", () => {
    const workload = find(of("minimal"), "Deployment", "tradewind-scaler");
    expect(at(workload, "spec", "replicas")).toBe(2);
    expect(at(workload, "spec", "strategy", "rollingUpdate")).toEqual({ maxUnavailable: 0, maxSurge: 1 });
    expect(podOf(workload)!["topologySpreadConstraints"]).toHaveLength(2);
    expect(at(find(of("minimal"), "PodDisruptionBudget", "tradewind-scaler"), "spec", "minAvailable")).toBe(
      1,
    );
  });

  it.each([
    ["minimal", "Deployment"],
    ["full", "StatefulSet"],
  ] as const)(
    "keeps a scaler pod serving for longer than KEDA's 30 s between two resolutions (%s)",
    (name, kind) => {
      const workload = find(of(name), kind, "tradewind-scaler");
      const sleepOf = (of: string): number =>
        at(container(workload, of), "lifecycle", "preStop", "sleep", "seconds") as number;
      const grace = podOf(workload)!["terminationGracePeriodSeconds"] as number;
      expect(at(workload, "spec", "minReadySeconds")).toBeGreaterThan(30);
      expect(sleepOf("exporter")).toBeGreaterThan(30);
      expect(sleepOf("predictor")).toBe(5);
      expect(grace - sleepOf("exporter")).toBeGreaterThanOrEqual(10);
    },
  );

  it("mounts nothing of the node but /proc and /sys, read-only", () => {
    for (const object of CASES.flatMap(of)) {
      const volumes = (podOf(object)?.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined);
      const paths = volumes.map(({ hostPath }) => hostPath?.path);
      expect(paths).toEqual(object.kind === "DaemonSet" ? ["/proc", "/sys"] : []);
      const mounts = (podOf(object)?.containers ?? []).flatMap(({ volumeMounts }) => volumeMounts ?? []);
      for (const { name } of volumes) {
        expect(mounts.find((mount) => mount.name === name)).toMatchObject({ readOnly: true });
      }
    }
  });

  it("answers KEDA's first question before there is an application, without a predictor", () => {
    const objects = of("default");
    const workload = find(objects, "Deployment", "tradewind-scaler");
    expect(podOf(workload)!.containers.map(({ name }) => name)).toEqual(["exporter"]);
    const roles = objects.filter(({ kind }) => kind.endsWith("Role")).map(({ metadata }) => metadata.name);
    expect(roles).toEqual(["tradewind-tradewind-agent"]);
  });

  it("never makes a ScaledObject: it would be reconciled before the scaler runs", () => {
    for (const name of CASES) expect(of(name).map(({ kind }) => kind)).not.toContain("ScaledObject");
  });

  it("renews pods when the application changes", async () => {
    const checksum = (objects: readonly KubernetesObject[]): string =>
      at(
        find(objects, "Deployment", "tradewind-scaler"),
        "spec",
        "template",
        "metadata",
        "annotations",
        "checksum/application",
      ) as string;
    const changed = await render("minimal", "--set", "application.spec.objective.milliseconds=300");
    expect(checksum(changed)).not.toBe(checksum(of("minimal")));
  });

  it("names in the certificate the host that KEDA is told", () => {
    const certificate = find(of("mtls-certmanager"), "Certificate", "tradewind-scaler");
    expect(at(certificate, "spec", "dnsNames")).toContain("tradewind-scaler.tradewind.svc.cluster.local");
    const client = find(of("mtls-certmanager"), "Certificate", "tradewind-keda-client");
    expect(client.metadata.namespace).toBe("keda");
    expect(at(client, "spec", "secretName")).toBe("tradewind-keda-client");
  });

  it("turns TLS on with an own secret too", () => {
    const workload = find(of("mtls-secret"), "Deployment", "tradewind-scaler");
    expect(container(workload, "exporter").args).toContain("--grpc-tls-ca=/etc/tradewind/tls/ca.crt");
    const volumes = podOf(workload)!["volumes"] as { name: string; secret?: { secretName: string } }[];
    expect(volumes.find(({ name }) => name === "tls")?.secret?.secretName).toBe("tradewind-tls");
  });

  it("keeps state on a volume for each pod when asked", () => {
    const workload = find(of("full"), "StatefulSet", "tradewind-scaler");
    expect(at(workload, "spec", "volumeClaimTemplates", 0, "spec", "resources", "requests", "storage")).toBe(
      "20Gi",
    );
    expect(at(workload, "spec", "podManagementPolicy")).toBe("Parallel");
  });

  it("takes images by registry, tag and digest", () => {
    const agent = container(find(of("full"), "DaemonSet", "tradewind-agent"), "agent");
    expect(agent.image).toMatch(/^registry\.example\.com\/platform\/tradewind-agent@sha256:[0-9a-f]{64}$/);
    const scaler = find(of("full"), "StatefulSet", "tradewind-scaler");
    expect(container(scaler, "exporter").image).toBe(
      "registry.example.com/platform/tradewind-exporter:0.1.0",
    );
    expect(container(scaler, "predictor").image).toBe("mirror.example.com/tradewind-predictor:0.1.0-1");
  });

  it("switches everything on that acts: the mode, sizes that decisions count on, and each part of the exporter", () => {
    const application = find(of("full"), "Application", "shop");
    expect(at(application, "spec")).toMatchObject({ mode: "act", resize: "limits" });
    const { args } = container(find(of("full"), "StatefulSet", "tradewind-scaler"), "exporter");
    expect(args).toEqual(
      expect.arrayContaining(["--status", "--events", "--vpa", "--in-place-resize"]) as string[],
    );
    const predictor = container(find(of("full"), "StatefulSet", "tradewind-scaler"), "predictor");
    expect(predictor.args).toContain("--policy=auto");
  });

  it("disturbs a node with no right, within limits and a time, by a Job of which other values make another", async () => {
    const job = of("inject").find(({ kind }) => kind === "Job")!;
    expect(of("default").filter(({ kind }) => kind === "Job")).toEqual([]);
    expect(at(job, "spec")).toMatchObject({ backoffLimit: 0, activeDeadlineSeconds: 360 });
    const { securityContext, resources, args } = container(job, "inject");
    expect(securityContext).toMatchObject({
      capabilities: { drop: ["ALL"] },
      allowPrivilegeEscalation: false,
    });
    expect(resources.limits).toEqual({ cpu: "2", memory: "2Gi" });
    expect(podOf(job)).toMatchObject({ automountServiceAccountToken: false, restartPolicy: "Never" });
    expect(args).toEqual(
      expect.arrayContaining(["--resource=memory", "--intensity=0.4", "--for=60s"]) as string[],
    );
    const other = objectsOf(
      (await template("--values", valuesOf("inject"), "--set", "inject.seconds=90")).stdout,
    );
    expect(other.find(({ kind }) => kind === "Job")!.metadata.name).not.toBe(job.metadata.name);
    for (const resource of ["cpu", "bandwidth", "network", "disk"]) {
      const set = await template("--values", valuesOf("inject"), "--set", `inject.resource=${resource}`);
      expect(
        container(
          objectsOf(set.stdout).find(({ kind }) => kind === "Job")!,
          "inject",
        ).args,
      ).toContain(`--resource=${resource}`);
    }
    const { ok, stderr } = await template("--set", "inject.enabled=true");
    expect(ok).toBe(false);
    expect(stderr).toContain("inject.node must name the node to disturb");
  });

  it("writes large numbers in full", () => {
    const application = find(of("full"), "Application", "shop");
    expect(at(application, "spec", "services", 0, "memory", "maxBytes")).toBe(4_294_967_296);
    expect(container(find(of("full"), "DaemonSet", "tradewind-agent"), "agent").args).toContain(
      "--memory-bandwidth=100000000000",
    );
  });
});
