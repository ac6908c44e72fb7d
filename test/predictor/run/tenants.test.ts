import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { deployment, pod } from "../../kubernetes/cluster-objects.ts";
import { SHOP, TwoTenants } from "./two-tenants.ts";
import type { Figures, Written } from "./two-tenants.ts";

const WINDOWS = 3;
const inBank = (name: string, facts: Parameters<typeof deployment>[1] = {}) =>
  deployment(name, { namespace: "bank", uid: `bank-${name}`, ...facts });
const DESK = {
  name: "desk",
  namespace: "bank",
  entry: "web",
  mode: "act",
  objective: { milliseconds: 100 },
};
const BANK: Written = { applications: [DESK], deployments: [inBank("web")] };
const nameVariable = (value: string) => [{ name: "OTEL_SERVICE_NAME", value }];

/** What `bank` writes besides its own application. */
const WRITES: Readonly<Record<string, Written>> = {
  "an Application that names the services of another namespace": {
    applications: [{ ...DESK, entry: "frontend", services: [{ name: "geo" }, { name: "web" }] }],
  },
  "an Application of the name of another one's, with the highest priority": {
    applications: [DESK, { ...DESK, name: "hotel", priority: 1_000 }],
  },
  "sixty Applications": {
    applications: Array.from({ length: 60 }, (_, index) => ({ ...DESK, name: `desk-${index}` })),
  },
  "an Application whose services are workloads of another namespace": {
    applications: [
      { ...DESK, services: [{ name: "web", workload: { kind: "Deployment", name: "geo" }, maxReplicas: 2 }] },
    ],
  },
  "calendars for services of another namespace": {
    applications: [
      {
        ...DESK,
        calendars: [
          {
            name: "always",
            services: ["geo", "frontend"],
            from: "0 0 * * *",
            until: "59 23 * * *",
            timeZone: "UTC",
            floor: { replicas: 50 },
          },
        ],
      },
    ],
  },
  "an Application that cannot be read": { applications: [DESK, { ...DESK, name: "broken", entry: 5 }] },
  "Deployments of the names of another namespace's": {
    deployments: [inBank("web"), inBank("frontend"), inBank("geo", { replicas: 0 })],
  },
  "the environment of its Deployments": {
    deployments: [
      inBank("web"),
      inBank("x", { env: nameVariable("frontend") }),
      inBank("y", { env: [{ name: "OTEL_RESOURCE_ATTRIBUTES", value: "service.name=geo" }] }),
    ],
  },
  "labels of its Deployments": {
    deployments: [
      inBank("web"),
      inBank("x", { podLabels: { "app.kubernetes.io/name": "geo" }, labels: { app: "frontend" } }),
    ],
  },
  "annotations of its Deployments": {
    deployments: [
      inBank("web"),
      inBank("x", { annotations: { "tradewind.dev/service": "geo" } }),
      inBank("y", { annotations: { "resource.opentelemetry.io/service.name": "frontend" } }),
    ],
  },
  "more Deployments than one predictor reads": {
    deployments: Array.from({ length: 10_001 }, (_, index) => inBank(`web-${index}`)),
  },
  "a Deployment with names that are none": {
    deployments: [inBank("web"), inBank("x", { annotations: { "tradewind.dev/service": "__proto__" } })],
  },
  "pods that say to be of another namespace's ReplicaSet": {
    pods: Array.from({ length: 9 }, (_, index) =>
      pod(`stray-${index}`, {
        namespace: "bank",
        ready: false,
        owner: { kind: "ReplicaSet", name: "geo-abc12", uid: "replicaset-geo-abc12" },
      }),
    ),
  },
  "a ScaledObject and an HPA for workloads of the names of another namespace's": {
    scaledObjects: [
      {
        metadata: { name: "geo", namespace: "bank", uid: "so-geo" },
        spec: { scaleTargetRef: { name: "geo" }, minReplicaCount: 0, maxReplicaCount: 1, triggers: [] },
      },
    ],
    autoscalers: [
      {
        metadata: { name: "geo", namespace: "bank", uid: "hpa-geo" },
        spec: { scaleTargetRef: { kind: "Deployment", name: "geo" }, minReplicas: 1, maxReplicas: 1 },
      },
    ],
  },
  "a quota and a PodDisruptionBudget that select everything": {
    quotas: [
      {
        metadata: { name: "team", namespace: "bank", uid: "quota-team" },
        spec: { hard: { pods: "1" } },
        status: { hard: { pods: "1" }, used: { pods: "1" } },
      },
    ],
    budgets: [
      {
        metadata: { name: "all", namespace: "bank", uid: "budget-all", generation: 1 },
        spec: { selector: {} },
        status: { disruptionsAllowed: 0, observedGeneration: 1 },
      },
    ],
  },
  "spans of its own services, slow and many": {
    spans: Array.from({ length: 20 }, () => ({ service: "web", namespace: "bank", ms: 9_000 })),
  },
  "spans of another namespace's names, from its own": {
    spans: ["frontend", "geo"].map((service) => ({ service, namespace: "bank", ms: 1 })),
  },
  "spans of two hundred names": {
    spans: Array.from({ length: 200 }, (_, index) => ({ service: `web-${index}`, namespace: "bank", ms: 1 })),
  },
};

/** What `shop` sees where `bank` writes this after some windows. */
async function figuresBeside(written: Written): Promise<{ figures: Figures; tenants: TwoTenants }> {
  const tenants = await TwoTenants.start();
  for (let index = 0; index < WINDOWS; index += 1) await tenants.window();
  await tenants.bankWrites({ ...BANK, ...written });
  for (let index = 0; index < WINDOWS; index += 1) await tenants.window();
  return { figures: await tenants.figures(), tenants };
}

describe("nothing that a tenant writes moves a number, a policy, a log line or a turn of another one", () => {
  let made: Promise<Figures> | undefined;
  const alone = async (): Promise<Figures> => (made ??= figuresBeside({}).then(({ figures }) => figures));

  it.each(Object.keys(WRITES))(
    "%s",
    async (what) => {
      const { figures } = await figuresBeside(WRITES[what] ?? {});
      expect({ ...figures, servicesBefore: 0 }).toEqual({ ...(await alone()), servicesBefore: 0 });
      // At most one application of another tenant is decided on before, and none that is larger.
      expect(figures.servicesBefore).toBeLessThanOrEqual(SHOP.deployments?.length ?? 0);
    },
    120_000,
  );

  it("and the numbers are those of users who wait", async () => {
    const { tenants } = await figuresBeside({});
    expect(tenants.replicas("hotel")["geo"]).toBeGreaterThan(4);
    expect((await alone()).plan).toMatchObject({ policy: "queue", complete: true });
    expect(tenants.names()).toEqual({ desk: [], hotel: [] });
  });
});

describe("a name that two tenants have", () => {
  const rivals = WRITES["Deployments of the names of another namespace's"] ?? {};

  it("stays with the one that had it first, and the other one is told and loses nothing", async () => {
    const { tenants } = await figuresBeside(rivals);
    expect(tenants.names()).toEqual({
      hotel: ["frontend keeps", "geo keeps"],
      desk: ["frontend yields", "geo yields"],
    });
    expect(tenants.missing("hotel")).toEqual([]);
    expect(tenants.missing("desk")).toContain(
      "spans of 'geo' that state no namespace go to an application that had the name first",
    );
  });

  it("from the start lets both grow", async () => {
    const tenants = await TwoTenants.start();
    await tenants.bankWrites({ ...BANK, ...rivals });
    for (let index = 0; index < WINDOWS; index += 1) await tenants.window();
    expect(tenants.names()["hotel"]).toEqual(["frontend shared", "geo shared"]);
    expect(tenants.replicas("hotel")["geo"]).toBeGreaterThan(4);
    expect(tenants.missing("hotel")).toContain(
      "spans of 'geo' that state no namespace may be of another application",
    );
  });

  it("stays with the one that had it first after a restart of the predictor", async () => {
    const state = await mkdtemp(join(tmpdir(), "tradewind-tenants-state-"));
    onTestFinished(async () => rm(state, { recursive: true, force: true }));
    const before = await TwoTenants.start(state);
    await before.window();
    await before.stop();
    const after = await TwoTenants.start(state);
    await after.bankWrites({ ...BANK, ...rivals });
    await after.window();
    expect(after.names()["hotel"]).toEqual(["frontend keeps", "geo keeps"]);
  });
});
