import type { Found, FoundService, FoundWorkload, PassedOver } from "./found.ts";
import { knownImage, repositoryOf, ROLE_WORDS } from "./known-software.ts";
import { callPorts, isCalledBy, isForOperation } from "./nature.ts";

/** A way by which requests come in from outside. */
export interface Exposure {
  /** `Ingress 'shop'`, `Service 'web' (LoadBalancer)`. */
  readonly by: string;
  /** A route was made for it, where a LoadBalancer or NodePort opens whatever the Service has. */
  readonly isRoute: boolean;
  readonly isRoot: boolean;
}

/** A workload as far as the entry is concerned. */
export interface EntryCandidate {
  readonly service: string;
  readonly workload: FoundWorkload;
  readonly exposures: readonly Exposure[];
  /** A load generator is told its address. */
  readonly isLoaded: boolean;
}

/** Whether a Service leads to pods with these labels. */
export function leadsTo({ selector }: FoundService, podLabels: Readonly<Record<string, string>>): boolean {
  const labels = Object.entries(selector);
  return labels.length > 0 && labels.every(([key, value]) => podLabels[key] === value);
}

const OPEN = new Set(["LoadBalancer", "NodePort", "external IP"]);

/** Ways from outside to pods with these labels, by ports that are for users. */
export function exposuresOf(
  { podLabels, templates = [] }: Pick<PassedOver, "podLabels"> & Partial<Pick<FoundWorkload, "templates">>,
  { routes, services }: Pick<Found, "routes" | "services">,
): Exposure[] {
  const own = services.filter((service) => leadsTo(service, podLabels));
  return [
    ...routes.flatMap(({ backends, by }) =>
      backends
        .filter(({ port, service }) => own.some((each) => each.name === service && isForUsers(each, port)))
        .map(({ isRoot }) => ({ by, isRoute: true, isRoot })),
    ),
    ...own
      .filter((service) => OPEN.has(service.type) && isCalledBy(service))
      .map(({ name, type }) => ({ by: `Service '${name}' (${type})`, isRoute: false, isRoot: false })),
    ...templates
      .filter(isOwn)
      .flatMap(({ ports }) => ports)
      .filter(({ hostPort, name }) => (hostPort ?? 0) > 0 && !isForOperation(name ?? ""))
      .map(({ hostPort }) => ({ by: `port ${hostPort} of its nodes`, isRoute: false, isRoot: false })),
  ];
}

function isForUsers(service: FoundService, port: number | string | undefined): boolean {
  if (typeof port === "string" && isForOperation(port)) return false;
  const matching = service.ports.filter((each) =>
    [each.port, each.name, each.target].includes(port ?? Number.NaN),
  );
  return matching.length === 0 || matching.some((each) => callPorts(service).includes(each));
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((word) => word !== ""));

/** What the service that users call is often called, as a whole. */
const ENTRY_NAMES = words(`
  frontend front-end front front-proxy frontend-proxy web webui web-ui webapp web-app webserver web-server website site ui gui
  gateway api-gateway apigateway edge edge-proxy edge-router storefront store-front portal proxy reverse-proxy ingress
  ingress-gateway ingressgateway router bff nginx apache httpd openresty envoy haproxy caddy traefik kong`);
/** Words of a name, or of an image's, that a service has which passes on what users ask for. */
const ENTRY_WORDS = words(`
  frontend front gateway web webui webapp ui edge website storefront portal proxy ingress bff nginx apache httpd openresty envoy
  haproxy caddy traefik kong`);

export type EntryGuess<Candidate> =
  | { readonly entry: Candidate; readonly why: string; readonly candidates?: never }
  | { readonly candidates: readonly string[]; readonly entry?: never };

/**
 * The service that users call: named; exposed to the outside; called like one; what a load generator calls; or the only one.
 * Where several are as likely, none is guessed.
 * @param others workloads that are not taken although users may call them: without them nothing is guessed by elimination
 */
export function guessEntry<Candidate extends EntryCandidate>(
  candidates: readonly Candidate[],
  named: string | undefined,
  others: readonly { readonly isExposed: boolean }[],
): EntryGuess<Candidate> {
  if (named !== undefined) {
    const entry = candidates.find(({ service, workload }) => service === named || workload.name === named);
    return entry === undefined ? { candidates: namesOf(candidates) } : { entry, why: "" };
  }
  const exposed = exposedOf(candidates);
  const [outside] = exposed;
  if (outside !== undefined && exposed.length === 1)
    return { entry: outside, why: `behind ${waysOf(outside)}` };
  if (outside === undefined && others.some(({ isExposed }) => isExposed))
    return { candidates: namesOf(candidates) };
  const among = outside === undefined ? candidates : exposed;
  const [only] = among;
  if (only !== undefined && among.length === 1 && others.length === 0)
    return { entry: only, why: "the only one" };
  const likely = likelyAmong(among, candidates);
  const [first] = likely;
  if (first !== undefined && likely.length === 1) return { entry: first, why: "by its name" };
  const loaded = (likely.length === 0 ? among : likely).filter(({ isLoaded }) => isLoaded);
  const [target] = loaded;
  return target !== undefined && loaded.length === 1
    ? { entry: target, why: "the load generator calls it" }
    : { candidates: namesOf(likely.length === 0 ? among : likely) };
}

const namesOf = (candidates: readonly EntryCandidate[]): string[] => candidates.map(({ service }) => service);

const waysOf = ({ exposures }: EntryCandidate): string =>
  [...new Set([...exposures].sort((a, b) => Number(b.isRoute) - Number(a.isRoute)).map(({ by }) => by))]
    .slice(0, 2)
    .join(" and ");

/** Those with a way from outside; of several those that a route leads to, and of these those that have its root. */
function exposedOf<Candidate extends EntryCandidate>(candidates: readonly Candidate[]): readonly Candidate[] {
  const exposed = candidates.filter(({ exposures }) => exposures.length > 0);
  const routed = exposed.filter(({ exposures }) => exposures.some(({ isRoute }) => isRoute));
  const rooted = routed.filter(({ exposures }) => exposures.some(({ isRoot }) => isRoot));
  return [rooted, routed, exposed].find((each) => each.length > 0) ?? [];
}

function likelyAmong<Candidate extends EntryCandidate>(
  among: readonly Candidate[],
  all: readonly EntryCandidate[],
): readonly Candidate[] {
  const prefix = sharedPrefix(all.map(({ workload }) => workload.name));
  const named = among.filter(({ workload: { name } }) =>
    [name, name.slice(prefix.length)].some((each) => ENTRY_NAMES.has(withoutRole(each))),
  );
  if (named.length > 0) return named;
  return among.filter(({ workload: { name, templates } }) =>
    [
      name.slice(prefix.length),
      ...templates.filter(isOwn).map(({ image }) => repositoryOf(image).at(-1) ?? ""),
    ].some((each) => each.split("-").some((word) => ENTRY_WORDS.has(word))),
  );
}

const isOwn = ({ image }: { readonly image: string }): boolean => knownImage(image)?.class !== "sidecar";

function withoutRole(name: string): string {
  const parts = name.split("-");
  while (parts.length > 1 && ROLE_WORDS.has(parts.at(-1) ?? "")) parts.pop();
  return parts.join("-");
}

/** The first word that all names share, with its hyphen: charts begin every name with their release's. */
function sharedPrefix(names: readonly string[]): string {
  const [first = ""] = names;
  const prefix = first.slice(0, first.indexOf("-") + 1);
  return names.length > 1 && names.every((name) => name.startsWith(prefix)) ? prefix : "";
}
