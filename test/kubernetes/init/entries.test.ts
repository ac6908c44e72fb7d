import { describe, expect, it } from "vitest";
import { initialise, InitRefusal } from "@tradewind/kubernetes/init/init.ts";
import { readManifests } from "@tradewind/kubernetes/init/read-manifests.ts";
import { OPTIONS, WEB, applicationIn, objectsIn, service, workload, write } from "./manifests.ts";
import type { Manifest } from "./manifests.ts";

const route = (kind: string, spec: object): Manifest => ({ kind, metadata: { name: "way" }, spec });

describe("the entry", () => {
  const services = ["alpha", "beta", "gamma"].flatMap((name) => [
    workload(name, `acme/${name}`),
    service(name),
  ]);

  it.each<[string, Manifest]>([
    [
      "an HTTPRoute",
      route("HTTPRoute", {
        parentRefs: [{ name: "gw" }],
        rules: [{ backendRefs: [{ name: "beta", port: 8080 }] }],
      }),
    ],
    ["an OpenShift Route", route("Route", { to: { kind: "Service", name: "beta" } })],
    [
      "a VirtualService with a gateway",
      route("VirtualService", {
        gateways: ["gw"],
        http: [{ route: [{ destination: { host: "beta.shop.svc.cluster.local" } }] }],
      }),
    ],
    [
      "an Ingress of before 1.19",
      route("Ingress", {
        rules: [{ http: { paths: [{ backend: { serviceName: "beta", servicePort: 8080 } }] } }],
      }),
    ],
    [
      "a Traefik IngressRoute",
      route("IngressRoute", { routes: [{ services: [{ name: "beta", port: 8080 }] }] }),
    ],
    [
      "the route of a Traefik IngressRoute without a path",
      route("IngressRoute", {
        routes: [
          { match: "Host(`shop`) && PathPrefix(`/api`)", services: [{ name: "alpha", port: 8080 }] },
          { match: "Host(`shop`)", services: [{ name: "beta", port: 8080 }] },
        ],
      }),
    ],
    [
      "the root of a Contour HTTPProxy",
      route("HTTPProxy", {
        routes: [
          { conditions: [{ prefix: "/api" }], services: [{ name: "alpha", port: 8080 }] },
          { services: [{ name: "beta", port: 8080 }] },
        ],
      }),
    ],
    [
      "an ApisixRoute",
      route("ApisixRoute", { http: [{ backends: [{ serviceName: "beta", servicePort: 8080 }] }] }),
    ],
    ["a TargetGroupBinding", route("TargetGroupBinding", { serviceRef: { name: "beta", port: 8080 } })],
    [
      "nginx' VirtualServer",
      route("VirtualServer", {
        upstreams: [
          { name: "a", service: "alpha", port: 8080 },
          { name: "b", service: "beta", port: 8080 },
        ],
        routes: [
          { path: "/api", action: { pass: "a" } },
          { path: "/", action: { pass: "b" } },
        ],
      }),
    ],
    [
      "the only weighted part of an HTTPRoute",
      route("HTTPRoute", {
        rules: [
          {
            backendRefs: [
              { name: "alpha", port: 8080, weight: 0 },
              { name: "beta", port: 8080, weight: 100 },
            ],
          },
        ],
      }),
    ],
    [
      "the only weighted part of a VirtualService",
      route("VirtualService", {
        gateways: ["gw"],
        http: [
          {
            route: [
              { destination: { host: "beta" }, weight: 100 },
              { destination: { host: "gamma" }, weight: 0 },
            ],
          },
        ],
      }),
    ],
    ["a NodePort", { ...service("beta-open", 8080, { type: "NodePort", selector: { app: "beta" } }) }],
    [
      "the root of an Ingress that has other paths too",
      route("Ingress", {
        rules: [
          {
            http: {
              paths: [
                { path: "/api", backend: { service: { name: "alpha" } } },
                { path: "/", backend: { service: { name: "beta" } } },
              ],
            },
          },
        ],
      }),
    ],
  ])("is what %s leads to", async (_what, way) => {
    expect(applicationIn(await write([...services, way])).entry).toBe("beta");
  });

  it.each<[string, readonly Manifest[]]>([
    [
      "two LoadBalancers lead to different services",
      ["alpha", "beta"].map((name) =>
        service(`${name}-open`, 80, { type: "LoadBalancer", selector: { app: name } }),
      ),
    ],
    [
      "a VirtualService is for calls within the mesh",
      [route("VirtualService", { http: [{ route: [{ destination: { host: "beta" } }] }] })],
    ],
    [
      "a NodePort opens nothing but metrics",
      [
        service(
          "beta-metrics",
          { port: 9090, name: "metrics" },
          { type: "NodePort", selector: { app: "beta" } },
        ),
      ],
    ],
    [
      "one name and one image look like an entry",
      [
        workload("media-frontend", "acme/media"),
        service("media-frontend"),
        workload("pages", "acme/nginx-pages"),
        service("pages"),
      ],
    ],
  ])("is asked for where %s", async (_what, more) => {
    await expect(write([...services, ...more])).rejects.toThrow(/name it with --entry: /);
  });

  it("is what the load generator is told, where nothing leads in and two are called like one", async () => {
    const more = ["frontend", "frontend-proxy"].flatMap((name) => [
      workload(name, `acme/${name}`),
      service(name),
    ]);
    const load = workload("load-generator", "acme/load", {
      container: { env: [{ name: "TARGET", value: "http://frontend-proxy:8080/" }] },
    });
    expect(applicationIn(await write([...services, ...more, load])).entry).toBe("frontend-proxy");
  });

  it("is the one that has a port of its nodes", async () => {
    const ports = [{ containerPort: 8080, hostPort: 80 }];
    const result = await write([
      ...services,
      workload("edge", "acme/edge", { container: { ports } }),
      service("edge"),
    ]);
    expect([result.entry, result.why]).toEqual(["edge", "behind port 80 of its nodes"]);
  });

  it("is asked for where the manifest of another workload cannot be read", async () => {
    const broken = { ...workload("shop", "acme/shop"), spec: { template: { spec: { containers: "none" } } } };
    const text = JSON.stringify({
      kind: "List",
      items: [broken, workload("cart", "acme/cart"), service("cart")],
    });
    const { found, notes } = await readManifests(["-"], "shop", async () => text);
    expect(notes.join()).toMatch(/Deployment 'shop' is left out/);
    expect(() => initialise(found, OPTIONS)).toThrow(/--entry: cart/);
  });

  it("is asked for where users reach a kind that is not read, and that kind is named", async () => {
    const manifests = [
      workload("page", "acme/page", { kind: "CloneSet" }),
      service("page", 80, { type: "LoadBalancer" }),
      workload("cart", "acme/cart"),
      service("cart"),
    ];
    const refusal: unknown = await write(manifests).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(InitRefusal);
    expect((refusal as InitRefusal).message).toMatch(/--entry: cart/);
    expect((refusal as InitRefusal).notes).toContain(
      "left out: page: Tradewind does not read the kind CloneSet, though users reach it",
    );
  });
});

describe("a Pod without a controller", () => {
  const web = { kind: "Pod", metadata: { name: "web", labels: { app: "web" } } };
  const containers = [{ name: "main", image: "acme/web" }];
  const cart = [workload("cart", "acme/cart"), service("cart")];
  const open = service("web", 80, { type: "LoadBalancer" });

  it("is named, and no other workload is taken for the entry in its place", async () => {
    const refused = write([{ ...web, spec: { containers } }, open, ...cart]);
    await expect(refused).rejects.toThrow(/which service users call cannot be told/);
    await expect(refused).rejects.toMatchObject({
      notes: ["left out: web: Tradewind does not read the kind Pod, though users reach it"],
    });
  });

  it.each<[string, Manifest]>([
    ["ends by itself", { ...web, spec: { restartPolicy: "Never", containers } }],
    [
      "is a test of a chart",
      {
        ...web,
        metadata: { ...web.metadata, annotations: { "helm.sh/hook": "test" } },
        spec: { containers },
      },
    ],
  ])("that %s is nothing to speak of", async (_what, pod) => {
    const { entry, notes } = await write([pod, ...cart]);
    expect(entry).toBe("cart");
    expect(notes.join()).not.toMatch(/Pod/);
  });
});

describe("the services of an application", () => {
  it("are called as in traces: by Istio's label, by app and version, by OTEL_SERVICE_NAME", async () => {
    const result = await write([
      ...WEB,
      workload("details-v1", "acme/details", { labels: { app: "details", version: "v1" } }),
      service("details"),
      workload("rates-blue", "acme/rates", { labels: { "service.istio.io/canonical-name": "rates" } }),
      service("rates-blue"),
      workload("pay", "acme/pay", { container: { env: [{ name: "OTEL_SERVICE_NAME", value: "payments" }] } }),
      service("pay"),
    ]);
    expect(
      applicationIn(result)
        .services.map(({ name }) => name)
        .sort(),
    ).toEqual(["details", "payments", "rates", "shop"]);
  });

  it("hold versions of one service apart: one is scaled under its name, the others keep their pods", async () => {
    const version = (name: string, replicas: number) =>
      workload(`reviews-${name}`, "acme/reviews", { labels: { app: "reviews", version: name }, replicas });
    const result = await write([...WEB, version("v1", 1), version("v2", 3), service("reviews")]);
    expect(applicationIn(result).services).toEqual([
      { name: "reviews-v1", minReplicas: 1, maxReplicas: 1 },
      {
        name: "reviews",
        workload: { kind: "Deployment", name: "reviews-v2" },
        minReplicas: 2,
        maxReplicas: 12,
      },
      { name: "shop", minReplicas: 1, maxReplicas: 10 },
    ]);
    const scaled = objectsIn(result).filter(({ kind }) => kind === "ScaledObject");
    expect(scaled.map(({ metadata }) => metadata.name)).toEqual(["reviews-v2", "shop"]);
    expect(result.notes.join("\n")).toMatch(/reviews-v1 is another version of 'reviews'/);
  });

  it("include a Rollout, also one that names its template by a Deployment", async () => {
    const result = await write([
      workload("shop", "acme/shop", { kind: "Rollout", replicas: 3 }),
      service("shop", 80, { type: "LoadBalancer" }),
      workload("cart", "acme/cart", { replicas: 0 }),
      service("cart"),
      {
        kind: "Rollout",
        metadata: { name: "cart-rollout" },
        spec: { replicas: 2, workloadRef: { kind: "Deployment", name: "cart" } },
      },
    ]);
    expect(applicationIn(result)).toMatchObject({
      entry: "shop",
      services: [
        { name: "cart-rollout", workload: { kind: "Rollout", name: "cart-rollout" } },
        { name: "shop", workload: { kind: "Rollout", name: "shop" } },
      ],
    });
    const target = objectsIn(result).find(({ kind }) => kind === "ScaledObject")!.spec.scaleTargetRef;
    expect(target).toEqual({ apiVersion: "argoproj.io/v1alpha1", kind: "Rollout", name: "cart-rollout" });
  });
});

describe("init that would leave most of an application out", () => {
  const named = ["redis", "mongo", "kafka"].flatMap((name) => [
    workload(`${name}-x`, `acme/${name}`),
    service(`${name}-x`),
  ]);

  it("asks where nothing but names speaks for it, and writes once that is accepted", async () => {
    await expect(write([...WEB, ...named])).rejects.toThrow(
      /3 of 4 workloads .*--accept .*--include kafka-x,mongo-x,redis-x/,
    );
    const { notes } = await write([...WEB, ...named], { accept: true });
    expect(notes[0]).toMatch(/more than half is left out, 3 of 4/);
  });

  it("does not ask where ports and volumes speak for it too", async () => {
    const stores = [6379, 27_017, 3306].flatMap((port) => [
      workload(`s${port}`, "acme/own"),
      service(`s${port}`, port),
    ]);
    expect((await write([...WEB, ...stores])).notes[0]).toMatch(/more than half is left out/);
  });
});
