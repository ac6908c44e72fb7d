import { z } from "zod";
import { Identity } from "../objects/metadata.ts";

/** A Service that a route from outside leads to. */
export interface Backend {
  readonly service: string;
  /** Number or name of the Service's port; undefined for any. */
  readonly port: number | string | undefined;
  /** It answers what no other path of the route does. */
  readonly isRoot: boolean;
}

/** Something that lets requests in from outside of the cluster. */
export interface Route {
  /** `Ingress 'shop'`, for a person. */
  readonly by: string;
  readonly backends: readonly Backend[];
}

const Port = z.union([z.number(), z.string()]).nullish();
const list = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .nullish()
    .transform((items) => items ?? []);

const IngressBackend = z
  .object({
    service: z
      .object({
        name: z.string(),
        port: z.object({ number: Port, name: z.string().nullish() }).nullish(),
      })
      .nullish(),
    // As in extensions/v1beta1 and networking.k8s.io/v1beta1.
    serviceName: z.string().nullish(),
    servicePort: Port,
  })
  .nullish();

const Ingress = z
  .object({
    defaultBackend: IngressBackend,
    backend: IngressBackend,
    rules: list(
      z.object({
        http: z
          .object({ paths: list(z.object({ path: z.string().nullish(), backend: IngressBackend })) })
          .nullish(),
      }),
    ),
  })
  .transform(({ backend, defaultBackend, rules }) => [
    ...[defaultBackend, backend].flatMap((each) => ingressBackend(each, "/")),
    ...rules.flatMap(({ http }) =>
      (http?.paths ?? []).flatMap((each) => ingressBackend(each.backend, each.path ?? "/")),
    ),
  ]);

function ingressBackend(backend: z.infer<typeof IngressBackend>, path: string): Backend[] {
  const service = backend?.service?.name ?? backend?.serviceName;
  if (service === undefined || service === null) return [];
  const { name, number } = backend?.service?.port ?? {};
  return [{ service, port: number ?? name ?? backend?.servicePort ?? undefined, isRoot: isRoot(path) }];
}

/** `/`, and what ingress controllers write for all of it: `/*`, `/(.*)`, `/?(.*)`. */
const isRoot = (path: string): boolean => path.length < 16 && /^\/?[?*.()|$/]*$/.test(path);

const Weight = z.number().nullish();
const Reference = z.object({ kind: z.string().nullish(), name: z.string(), port: Port, weight: Weight });

/** A Service that gets some of the requests. */
const isOfService = ({ kind, weight }: z.infer<typeof Reference>): boolean =>
  (kind ?? "Service") === "Service" && weight !== 0;

/** HTTPRoute, GRPCRoute, TLSRoute and TCPRoute of the Gateway API; one that hangs on a Service is for calls within the mesh. */
const GatewayRoute = z
  .object({
    parentRefs: list(z.object({ kind: z.string().nullish() })),
    rules: list(
      z.object({
        matches: list(z.object({ path: z.object({ value: z.string().nullish() }).nullish() })),
        backendRefs: list(Reference),
      }),
    ),
  })
  .transform(({ parentRefs, rules }) =>
    parentRefs.length > 0 && parentRefs.every(({ kind }) => kind === "Service")
      ? []
      : rules.flatMap(({ backendRefs, matches }) =>
          backendRefs.filter(isOfService).map(({ name, port }) => ({
            service: name,
            port: port ?? undefined,
            isRoot: matches.length === 0 || matches.some(({ path }) => isRoot(path?.value ?? "/")),
          })),
        ),
  );

/** OpenShift's. */
const OpenShiftRoute = z
  .object({
    path: z.string().nullish(),
    to: Reference,
    alternateBackends: list(Reference),
    port: z.object({ targetPort: Port }).nullish(),
  })
  .transform(({ alternateBackends, path, port, to }) =>
    [to, ...alternateBackends].filter(isOfService).map(({ name }) => ({
      service: name,
      port: port?.targetPort ?? undefined,
      isRoot: isRoot(path ?? "/"),
    })),
  );

const Destination = z.object({
  weight: Weight,
  destination: z.object({ host: z.string(), port: z.object({ number: z.number().nullish() }).nullish() }),
});
const Match = z.object({ uri: z.record(z.string(), z.unknown()).nullish() });

/** Istio's; without a gateway it is for calls within the mesh. */
const VirtualService = z
  .object({
    gateways: list(z.string()),
    http: list(z.object({ match: list(Match), route: list(Destination) })),
    tls: list(z.object({ route: list(Destination) })),
    tcp: list(z.object({ route: list(Destination) })),
  })
  .transform(({ gateways, http, tcp, tls }) => {
    if (gateways.every((gateway) => gateway === "mesh")) return [];
    const backends = (route: z.infer<typeof Destination>[], root: boolean): Backend[] =>
      route
        .filter(({ weight }) => weight !== 0)
        .map(({ destination: { host, port } }) => ({
          service: host.split(".", 1)[0] ?? "",
          port: port?.number ?? undefined,
          isRoot: root,
        }));
    const rootOf = (match: z.infer<typeof Match>[]): boolean =>
      match.length === 0 ||
      match.some(({ uri }) => Object.values(uri ?? { prefix: "/" }).some((each) => isRoot(String(each))));
    return [
      ...http.flatMap(({ match, route }) => backends(route, rootOf(match))),
      ...[...tls, ...tcp].flatMap(({ route }) => backends(route, true)),
    ];
  });

/** Traefik's IngressRoute and Contour's HTTPProxy. */
const ProxyRoutes = z
  .object({
    routes: list(
      z.object({
        match: z.string().nullish(),
        conditions: list(z.object({ prefix: z.string().nullish(), exact: z.string().nullish() })),
        services: list(Reference),
      }),
    ),
  })
  .transform(({ routes }) =>
    routes.flatMap(({ conditions, match, services }) =>
      services.filter(isOfService).map(({ name, port }) => ({
        service: name,
        port: port ?? undefined,
        isRoot:
          !/\bPath(?:Prefix|Regexp)?\((?!`\/?`\))/.test((match ?? "").slice(0, MOST_MATCH)) &&
          conditions.every(({ exact, prefix }) => isRoot(exact ?? prefix ?? "/")),
      })),
    ),
  );
const MOST_MATCH = 1_000;

const NamedBackend = z.object({ serviceName: z.string(), servicePort: Port, weight: Weight });

/** APISIX's. */
const ApisixRoute = z
  .object({
    http: list(
      z.object({
        match: z.object({ paths: list(z.string()) }).nullish(),
        backends: list(NamedBackend),
      }),
    ),
  })
  .transform(({ http }) =>
    http.flatMap(({ backends, match }) =>
      backends
        .filter(({ weight }) => weight !== 0)
        .map(({ serviceName, servicePort }) => ({
          service: serviceName,
          port: servicePort ?? undefined,
          isRoot: (match?.paths ?? []).some(isRoot),
        })),
    ),
  );

/** What a load balancer of AWS is made for outside of the cluster. */
const TargetGroupBinding = z
  .object({ serviceRef: Reference })
  .transform(({ serviceRef: { name, port } }) => [{ service: name, port: port ?? undefined, isRoot: true }]);

/** nginx' own. */
const VirtualServer = z
  .object({
    upstreams: list(z.object({ name: z.string(), service: z.string(), port: Port })),
    routes: list(
      z.object({
        path: z.string().nullish(),
        action: z.object({ pass: z.string().nullish() }).nullish(),
      }),
    ),
  })
  .transform(({ routes, upstreams }) =>
    upstreams.map(({ name, port, service }) => ({
      service,
      port: port ?? undefined,
      isRoot: routes.some(({ action, path }) => action?.pass === name && isRoot(path ?? "")),
    })),
  );

/** Emissary's (Ambassador). */
const Mapping = z
  .object({ prefix: z.string().nullish(), service: z.string() })
  .transform(({ prefix, service }) => [
    {
      service: service.replace(/^https?:\/\//, "").split(/[.:/]/, 1)[0] ?? "",
      port: undefined,
      isRoot: isRoot(prefix ?? ""),
    },
  ]);

const ROUTES: Readonly<Record<string, z.ZodType<Backend[]>>> = {
  Ingress,
  HTTPRoute: GatewayRoute,
  GRPCRoute: GatewayRoute,
  TLSRoute: GatewayRoute,
  TCPRoute: GatewayRoute,
  Route: OpenShiftRoute,
  VirtualService,
  IngressRoute: ProxyRoutes,
  HTTPProxy: ProxyRoutes,
  Mapping,
  ApisixRoute,
  TargetGroupBinding,
  VirtualServer,
};

/** Where a route leads; undefined for a kind that is none. @throws z.ZodError */
export function routeOf(kind: string, object: unknown): Route | undefined {
  const Spec = Object.hasOwn(ROUTES, kind) ? ROUTES[kind] : undefined;
  if (Spec === undefined) return undefined;
  const { metadata, spec } = z.object({ metadata: Identity, spec: z.unknown() }).parse(object);
  return { by: `${kind} '${metadata.name}'`, backends: Spec.parse(spec ?? {}) };
}
