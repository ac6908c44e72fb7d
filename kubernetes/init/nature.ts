import type { FoundContainer, FoundService, FoundWorkload, Volume } from "./found.ts";
import {
  DATA_FOLDERS,
  INFRASTRUCTURE_HINT_PORTS,
  knownImage,
  LOAD_NAMES,
  LOAD_PROGRAMS,
  OTHER_PORT_WORDS,
  PAGE_PROGRAMS,
  repositoryOf,
  ROLE_WORDS,
  SERVER_HINT_VARIABLES,
  SERVER_PROGRAMS,
  SERVER_VARIABLES,
  STATE_PORT_WORDS,
  STATE_PORTS,
  STORE_HINT_PORTS,
  STORE_WORDS,
  TELEMETRY_PORTS,
} from "./known-software.ts";
import type { References } from "./references.ts";

/** What a workload is to an autoscaler that scales by latency. */
export type NatureClass = "service" | "stateful" | "infrastructure" | "load" | "uncalled";

/** The class of a workload with what it rests on. */
export interface Nature {
  readonly class: NatureClass;
  /** The evidence in words, strongest first; what speaks for a service where it is one. */
  readonly reasons: readonly string[];
  /** Nothing but a name speaks for the class: the name of an image, or of the workload. */
  readonly byNameAlone: boolean;
}

/** What of the surroundings of a workload tells what it is. */
export interface Surroundings {
  /** Services that lead to its pods. */
  readonly services: readonly FoundService[];
  /** A Service of any workload is known; without one it is not known who calls whom. */
  readonly servicesKnown: boolean;
  readonly references: References;
  /** Access modes of claims, by name. */
  readonly claims: ReadonlyMap<string, readonly string[]>;
  /** Something but a Service leads requests to it: `dapr.io/app-port`. */
  readonly calledBy: string | undefined;
}

/** Ports for the people who run it, not for users: a Service with nothing else is called by no user. */
const OPERATION = new Set(
  "metrics prometheus prom monitoring scrape health healthz healthcheck liveness readiness probe pprof debug jmx logs webhook admission".split(
    " ",
  ),
);
const TELEMETRY_NAMES = new Set("otlp opamp zipkin jaeger statsd wavefront gelf syslog fluentd".split(" "));

const wordsOf = (name: string): string[] => name.toLowerCase().slice(0, 253).split(/[-_.]/);

/** Whether the name of a port says that it is for metrics, health or debugging. */
export const isForOperation = (portName: string): boolean =>
  wordsOf(portName).some((word) => OPERATION.has(word));

/** The ports of a Service by which it is called. */
export const callPorts = ({ ports }: FoundService): FoundService["ports"] =>
  ports.filter(({ name, targetName }) => !isForOperation(name) && !isForOperation(targetName));

/** Whether anything but metrics and probes comes in by a Service. */
export const isCalledBy = (service: FoundService): boolean =>
  service.ports.length === 0 || callPorts(service).length > 0;

/** Tells what a workload is from everything that its manifests say. */
export function natureOf(workload: FoundWorkload, surroundings: Surroundings): Nature {
  const proofs = stateProofs(workload, surroundings);
  const image = stateImage(workload);
  const names = storeNames(workload);
  const state = [...proofs, ...image];
  if (state.length > 0) return nature("stateful", [...state, ...names], proofs.length === 0);
  const serving = servingContainers(workload, surroundings.services);
  const infrastructure = infrastructureProofs(workload, serving, surroundings);
  if (infrastructure.length > 0) return nature("infrastructure", infrastructure, false);
  if (names.length > 0) {
    const hints = stateHints(workload, surroundings);
    const isSilent = !answersHttp(serving, surroundings);
    if (hints.length > 0 || isSilent) {
      const more = hints.length > 0 ? hints : ["nothing in it answers HTTP or gRPC probes"];
      return nature("stateful", [...names, ...more], hints.length === 0);
    }
  }
  if (sleeps(serving))
    return nature("uncalled", ["it only sleeps until somebody runs a command in it"], false);
  const load = loadProofs(workload, serving, surroundings);
  if (load.length > 0) return nature("load", load, false);
  return calls(workload, surroundings);
}

const nature = (kind: NatureClass, reasons: readonly string[], byNameAlone: boolean): Nature => ({
  class: kind,
  reasons,
  byNameAlone,
});

/** What shows by itself that another pod would not be more of the same. */
function stateProofs(workload: FoundWorkload, surroundings: Surroundings): string[] {
  const { kind, ownVolumes, templates } = workload;
  const variable = ownContainers(templates)
    .flatMap(({ env }) => env)
    .find(({ name }) => SERVER_VARIABLES.has(name));
  const port = portsOf(workload, surroundings.services).find((each) => STATE_PORTS.has(each));
  const portName = portNamesOf(workload, surroundings.services).find(isStatePort);
  return [
    ...(ownVolumes ? ["each of its pods has a volume of its own"] : []),
    ...(kind === "StatefulSet" ? ["it is a StatefulSet"] : []),
    ...volumeProofs(workload, surroundings),
    ...scratchProofs(workload),
    ...embeddedProofs(workload),
    ...programProofs(workload),
    ...(port === undefined ? [] : [`port ${port} is ${STATE_PORTS.get(port) ?? ""}'s`]),
    ...(port !== undefined || portName === undefined ? [] : [`it calls a port '${portName}'`]),
    ...(variable === undefined ? [] : [`${variable.name} is a variable of a server that keeps data`]),
  ];
}

/** Whether a port is named after a protocol of a store or broker: `mysql`, `tcp-redis`, not `redis-http`. */
function isStatePort(name: string): boolean {
  const parts = wordsOf(name);
  return (
    parts.some((word) => STATE_PORT_WORDS.has(word)) && !parts.some((word) => OTHER_PORT_WORDS.has(word))
  );
}

/** Writable volumes that outlive a pod or lie where servers keep their data. */
function volumeProofs({ templates, volumes }: FoundWorkload, { claims }: Surroundings): string[] {
  const byName = new Map(volumes.map((volume) => [volume.name, volume]));
  return templates.flatMap(({ volumeMounts }) =>
    volumeMounts.flatMap(({ mountPath, name, readOnly }) => {
      const volume = byName.get(name);
      if (readOnly === true || (volume !== undefined && READ_ONLY_SOURCES.has(volume.source))) return [];
      const folder = DATA_FOLDERS.find((each) => mountPath === each || mountPath.startsWith(`${each}/`));
      const kept = volume && keptBy(volume, claims);
      if (kept !== undefined) return [`${kept} at ${mountPath}`];
      return folder === undefined ? [] : [`a volume at ${mountPath}, where a server keeps its data`];
    }),
  );
}

const READ_ONLY_SOURCES = new Set(["configMap", "secret", "projected", "downwardAPI", "image"]);
/** Disks that one node at a time can hold. */
const SINGLE_WRITER_SOURCES = new Set([
  "awsElasticBlockStore",
  "azureDisk",
  "cinder",
  "fc",
  "gcePersistentDisk",
  "iscsi",
  "rbd",
  "vsphereVolume",
]);
/** Folders of a node that hold no data of a program. */
const NODE_FOLDERS = [
  "/dev",
  "/etc",
  "/lib",
  "/proc",
  "/run",
  "/sys",
  "/tmp",
  "/usr",
  "/var/log",
  "/var/run",
];

function keptBy({ claim, hostPath, source }: Volume, claims: Surroundings["claims"]): string | undefined {
  if (claim !== undefined) {
    const modes = claims.get(claim) ?? [];
    const isShared = modes.some((mode) => mode === "ReadWriteMany" || mode === "ReadOnlyMany");
    return isShared ? undefined : `the claim '${claim}'`;
  }
  if (hostPath !== undefined) {
    const isOfNode = NODE_FOLDERS.some((each) => hostPath === each || hostPath.startsWith(`${each}/`));
    return isOfNode || hostPath === "/" ? undefined : `the node's folder ${hostPath}`;
  }
  return SINGLE_WRITER_SOURCES.has(source) ? `a disk (${source})` : undefined;
}

const SCRATCH_DATA = /^\/(?:data|db|config|storage|var\/lib|var\/www)(?:\/|$)|\/data$/;

/** Data in a volume of the pod itself, of which two pods at once are not wanted even for a moment. */
function scratchProofs({ isRecreated, templates, volumes }: FoundWorkload): string[] {
  if (!isRecreated) return [];
  const scratch = new Set(volumes.filter(({ source }) => source === "emptyDir").map(({ name }) => name));
  const kept = templates
    .flatMap(({ volumeMounts }) => volumeMounts)
    .find(
      ({ mountPath, name }) => scratch.has(name) && mountPath.length < 200 && SCRATCH_DATA.test(mountPath),
    );
  return kept === undefined ? [] : [`its strategy is Recreate, and ${kept.mountPath} lies in the pod`];
}

const EMBEDDED =
  /^(?:sqlite3?$|sqlite3?:|jdbc:(?:sqlite|h2|hsqldb|derby):)|^(?:file:|data source=|\.?\/)[^\s;]*\.(?:db|sqlite3?)(?:;|$)/;

const isEmbedded = (text: string): boolean => EMBEDDED.test(text.slice(0, 300).toLowerCase());

/** A database inside of the program: each pod would have one of its own. */
function embeddedProofs({ templates }: FoundWorkload): string[] {
  const variable = templates.flatMap(({ env }) => env).find(({ value }) => isEmbedded(value ?? ""));
  if (variable !== undefined) return [`${variable.name} names a database inside of the pod`];
  const argument = startWords(templates).find((word) => isEmbedded(word.slice(word.indexOf("=") + 1)));
  return argument === undefined ? [] : ["an argument names a database inside of the pod"];
}

const MAX_START = 2_000;

/** What containers are started with, word by word; the text of a shell too. */
const startWords = (containers: readonly FoundContainer[]): string[] =>
  containers.flatMap(({ args, command }) =>
    [...command, ...args]
      .join(" ")
      .slice(0, MAX_START)
      .split(/[\s;'"]/),
  );

/** Those that are not there to serve another one: beside any other, a pooler or a shipper of logs is. */
function ownContainers(templates: FoundWorkload["templates"]): readonly FoundContainer[] {
  const containers = templates.filter((each) => !isSidecar(each));
  const serving = containers.filter(({ image }) => knownImage(image)?.class !== "infrastructure");
  return serving.length > 0 ? serving : containers;
}

/** A program that keeps data is what a container is started with, whatever its image is called. */
function programProofs({ templates }: FoundWorkload): string[] {
  const server = ownContainers(templates)
    .map(startedIn)
    .find((name) => SERVER_PROGRAMS.has(name));
  return server === undefined ? [] : [`it starts '${server}', which keeps data`];
}

/** The program that a container is started with, within a shell too; empty where its image says it. */
function startedIn(container: FoundContainer): string {
  const word = startWords([container]).find((each) => each !== "" && !SHELL_WORDS.has(nameIn(each)));
  return nameIn(word ?? "");
}

/** The name of a program's file: `redis-server` of `/usr/bin/redis-server`. */
const nameIn = (word: string): string => word.slice(word.lastIndexOf("/") + 1);

function stateImage({ templates }: FoundWorkload): string[] {
  const image = templates.find((each) => knownImage(each.image)?.class === "stateful")?.image;
  return image === undefined ? [] : [`'${image}' keeps data`];
}

/** Labels that say what a workload is for. */
const ROLE_LABELS = ["app.kubernetes.io/name", "app.kubernetes.io/component", "component", "tier"];

/** What its own name, a label, or the name of its image ends in that is a store's: a hint, no more. */
function storeNames({ name, podLabels, templates }: FoundWorkload): string[] {
  const images = ownContainers(templates).map(({ image }) => repositoryOf(image).at(-1) ?? "");
  const roles = ROLE_LABELS.flatMap((label) => podLabels[label] ?? []);
  const found = [name, ...images, ...roles].find((each) => STORE_WORDS.has(headOf(each)));
  return found === undefined ? [] : [`'${found}' is called like a store of data`];
}

/** The word of a name that says what it is: `orders-db-primary` is a `db`, `kafka-consumer` no `kafka`. */
function headOf(name: string): string {
  const words = wordsOf(name);
  while (words.length > 1 && ROLE_WORDS.has(words.at(-1) ?? "")) words.pop();
  return words.at(-1) ?? "";
}

/** What says nothing alone, yet enough beside a store's name. */
function stateHints(workload: FoundWorkload, { services }: Surroundings): string[] {
  const head = headOf(workload.name);
  const port = portsOf(workload, services).find((each) => STORE_HINT_PORTS.get(each)?.has(head) === true);
  const variable = workload.templates
    .flatMap(({ env }) => env)
    .find((each) => SERVER_HINT_VARIABLES.has(each.name));
  return [
    ...(port === undefined ? [] : [`port ${port} is usual for it`]),
    ...(variable === undefined ? [] : [`${variable.name} is usual for it`]),
    ...(workload.isRecreated ? ["its strategy is Recreate"] : []),
    ...(services.some(({ isHeadless }) => isHeadless) ? ["its Service is headless"] : []),
  ];
}

const isSidecar = ({ image }: FoundContainer): boolean => knownImage(image)?.class === "sidecar";

/** Names of the ports of its containers and Services; those of sidecars are not its own. */
function portNamesOf({ templates }: FoundWorkload, services: readonly FoundService[]): string[] {
  const ports = ownContainers(templates).flatMap((each) => each.ports);
  return [...ports, ...services.flatMap(({ ports }) => ports)].flatMap(({ name }) => name ?? []);
}

/** Every port that its containers or its Services name by number; those of sidecars are not its own. */
function portsOf({ templates }: FoundWorkload, services: readonly FoundService[]): number[] {
  return [
    ...ownContainers(templates)
      .flatMap((each) => each.ports)
      .flatMap(({ containerPort }) => containerPort ?? []),
    ...services.flatMap(({ ports }) =>
      ports.flatMap(({ port, target }) => [port, ...(typeof target === "number" ? [target] : [])]),
    ),
  ];
}

/** The containers that its Services lead to; the first that is no sidecar where their ports do not tell. */
function servingContainers(
  { templates }: FoundWorkload,
  services: readonly FoundService[],
): readonly FoundContainer[] {
  const targets = new Set(services.flatMap((service) => callPorts(service)).map(({ target }) => target));
  const containers = templates.filter((each) => !isSidecar(each));
  const reached = containers.filter(({ ports }) =>
    ports.some(
      ({ containerPort, name }) => targets.has(containerPort ?? Number.NaN) || targets.has(name ?? ""),
    ),
  );
  return reached.length > 0 ? reached : containers.slice(0, 1);
}

function infrastructureProofs(
  { name }: FoundWorkload,
  serving: readonly FoundContainer[],
  { references, services }: Surroundings,
): string[] {
  const known = serving.find(({ image }) => knownImage(image)?.class === "infrastructure");
  const ports = [
    ...serving.flatMap(({ ports }) =>
      ports.map(({ containerPort, name }) => ({ port: containerPort ?? 0, name: name ?? "" })),
    ),
    ...services.flatMap(({ ports }) =>
      ports.map(({ name, target, port }) => ({ port: typeof target === "number" ? target : port, name })),
    ),
  ];
  const telemetry = ports.find(
    ({ name: portName, port }) =>
      TELEMETRY_PORTS.has(port) || wordsOf(portName).some((word) => TELEMETRY_NAMES.has(word)),
  );
  const exporter = serving.find(({ image }) => isExporter(repositoryOf(image).at(-1) ?? ""));
  const registering = registryVariable(name, services, references);
  const head = headOf(name);
  const hinted = ports.find(({ port }) => INFRASTRUCTURE_HINT_PORTS.get(port)?.has(head) === true);
  return [
    ...(known === undefined ? [] : [`'${known.image}' serves the cluster and its operators`]),
    ...(exporter === undefined
      ? []
      : [`'${exporter.image}' is called like an exporter of a store's metrics`]),
    ...(telemetry === undefined
      ? []
      : [
          `port ${telemetry.port} takes or shows telemetry (${TELEMETRY_PORTS.get(telemetry.port) ?? telemetry.name})`,
        ]),
    ...(hinted === undefined
      ? []
      : [`'${name}' is called like it, and port ${hinted.port} is usual for that`]),
    ...(registering === undefined ? [] : [`other workloads register with it (${registering})`]),
    ...operatorProofs(name, serving, ports, services.length > 0),
  ];
}

/** The port at which operators admit objects, unless they are told another. */
const WEBHOOK_PORT = 9443;

/** An operator's name, and nothing but webhooks behind its Services. */
function operatorProofs(
  name: string,
  serving: readonly FoundContainer[],
  ports: readonly { readonly port: number }[],
  isCalled: boolean,
): string[] {
  const images = serving.map(({ image }) => repositoryOf(image).at(-1) ?? "");
  const named = [name, ...images].find((each) => isOperator(each));
  const admits = ports.some(({ port }) => port === WEBHOOK_PORT);
  return named !== undefined && (admits || !isCalled) ? [`'${named}' is called like an operator`] : [];
}

const isOperator = (name: string): boolean => /-?(?:operator|controller-manager)$/.test(name.slice(0, 253));

/** `rabbitmq-exporter`, not `report-exporter`. */
function isExporter(name: string): boolean {
  const [last, store = ""] = wordsOf(name).reverse();
  return last === "exporter" && STORE_WORDS.has(store);
}

const REGISTRIES = new Set(["registry", "eureka", "discovery", "nacos", "consul"]);
const REGISTERING = /REGISTRY|EUREKA|DISCOVERY|NACOS|CONSUL/;

/** The variable by which others find a registry of services, whose list lies in the memory of one pod. */
function registryVariable(
  name: string,
  services: readonly FoundService[],
  references: References,
): string | undefined {
  if (!REGISTRIES.has(headOf(name))) return undefined;
  return services
    .flatMap((service) => references.to(service.name))
    .find(({ variable }) => variable.length < 200 && REGISTERING.test(variable.toUpperCase()))?.variable;
}

const CALLED_BY_REGISTRY = /EUREKA|NACOS|CONSUL|DISCOVERY|DUBBO/;

/** The variable by which a workload with a port makes itself known to callers that ask no Service. */
function registeredBy({ templates }: FoundWorkload): string | undefined {
  return ownContainers(templates)
    .filter(({ ports }) => ports.some(({ name }) => !isForOperation(name ?? "")))
    .flatMap(({ env }) => env)
    .find(({ name }) => CALLED_BY_REGISTRY.test(name.slice(0, 200).toUpperCase()))?.name;
}

function loadProofs(
  { name }: FoundWorkload,
  serving: readonly FoundContainer[],
  { references, services }: Surroundings,
): string[] {
  const known = serving.find(({ image }) => knownImage(image)?.class === "load");
  if (known !== undefined) return [`'${known.image}' makes load`];
  const program = serving.map((each) => loadProgramIn(each)).find((each) => each !== undefined);
  if (program !== undefined) return [`it starts '${program}', which makes load`];
  const images = serving.map(({ image }) => repositoryOf(image).at(-1) ?? "");
  const named = [name, ...images].find((each) =>
    LOAD_NAMES.some((load) => `-${wordsOf(each).join("-")}-`.includes(`-${load}-`)),
  );
  const isCalled = services.some((service) => references.to(service.name).length > 0);
  return named === undefined || isCalled
    ? []
    : [`'${named}' is called like a load generator, and no other workload calls it`];
}

/** The client that a container is started with; one that asks for single pages counts where a shell repeats it. */
function loadProgramIn(container: FoundContainer): string | undefined {
  const program = startedIn(container);
  const isLoop = PAGE_PROGRAMS.has(program) && startWords([container]).includes("while");
  return LOAD_PROGRAMS.has(program) || isLoop ? program : undefined;
}

/** Whether anything shows that it answers requests: a probe over HTTP or gRPC, or a port called so. */
function answersHttp(serving: readonly FoundContainer[], { services }: Surroundings): boolean {
  const names = [
    ...serving.flatMap(({ ports }) => ports.map(({ name }) => name ?? "")),
    ...services.flatMap(({ ports }) => ports.map(({ name }) => name)),
  ];
  return (
    serving.some(({ answersProbes }) => answersProbes) ||
    names.some((each) => wordsOf(each).some((word) => /^(?:http|https|http2|grpc|web|api|rest)$/.test(word)))
  );
}

const PAUSES = new Set("sleep infinity tail -f dev null".split(" "));
const SHELL_WORDS = new Set(
  "bin usr sh bash ash -c -ec exec trap : TERM INT while true do done wait & exit".split(" "),
);
const LENGTH = /^\d{0,9}[smhd]?$/;

/** It only waits for somebody to run commands in it: `sleep infinity`, `sh -c "while true; do sleep 3600; done"`. */
function sleeps(serving: readonly FoundContainer[]): boolean {
  return serving.some(({ args, command }) => {
    const started = [...command, ...args].join(" ");
    if (started === "" || started.length > 500) return false;
    const said = started.split(/[\s/;'"]/).filter((word) => !SHELL_WORDS.has(word) && !LENGTH.test(word));
    return said.length > 0 && said.every((word) => PAUSES.has(word));
  });
}

function calls(workload: FoundWorkload, { calledBy, services, servicesKnown }: Surroundings): Nature {
  const calling = services.find((service) => isCalledBy(service));
  if (calling !== undefined) return nature("service", [`Service '${calling.name}' leads to it`], false);
  if (calledBy !== undefined) return nature("service", [calledBy], false);
  const registration = registeredBy(workload);
  if (registration !== undefined && services.length === 0)
    return nature("service", [`it is found by a registry of services (${registration})`], false);
  // Where no Service is known at all, who calls whom is not known either.
  if (!servicesKnown) return nature("service", ["no Service is known at all"], false);
  const why =
    services.length > 0
      ? `its Service '${services[0]?.name ?? ""}' leads to metrics or probes only, so nobody calls it`
      : "no Service leads to it, so nobody calls it";
  return nature("uncalled", [why], false);
}
