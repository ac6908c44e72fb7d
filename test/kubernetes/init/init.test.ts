import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseAllDocuments } from "yaml";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { initialise } from "@tradewind/kubernetes/init/init.ts";
import type { InitOptions, InitResult } from "@tradewind/kubernetes/init/init.ts";
import { readCluster } from "@tradewind/kubernetes/init/read-cluster.ts";
import { readManifests } from "@tradewind/kubernetes/init/read-manifests.ts";
import { VerticalPodAutoscaler } from "@tradewind/kubernetes/objects/vpa.ts";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { answeredReplicas } from "@tradewind/exporter/keep/recommendation.ts";
import { advise } from "@tradewind/exporter/controller/vpa/recommend.ts";
import { parseApplication } from "@tradewind/kubernetes/application/file.ts";
import { cartPod } from "../../exporter/controller/sizing/pods.ts";
import { deployment } from "../cluster-objects.ts";
import { FakeApiServer } from "../fake-api-server.ts";
import type { KubeObject } from "../fake-objects.ts";
import { OPTIONS } from "./manifests.ts";

const GOLDEN = fileURLToPath(new URL("../../golden/init", import.meta.url));
const PROGRAM = fileURLToPath(new URL("../../../cli/main.ts", import.meta.url));

const containers = (app: string, ...all: object[]) => ({
  spec: { template: { metadata: { labels: { app } }, spec: { containers: all } } },
});
const hpa = (name: string, target: string): KubeObject => ({
  metadata: { name, namespace: "shop" },
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: target },
    minReplicas: 3,
    maxReplicas: 12,
    metrics: [
      {
        type: "Resource",
        resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } },
      },
    ],
  },
});

/** A shop as one finds them: an Ingress, an HPA, a sidecar, a database, a cache. */
function shop(fake: FakeApiServer): void {
  const sizes = { requests: { cpu: "250m", memory: "256Mi" }, limits: { cpu: "500m" } };
  fake.put(RESOURCES.deployments, deployment("frontend", { ...sizes, replicas: 3 }));
  const env = [{ name: "OTEL_SERVICE_NAME", value: "cartservice" }];
  const cart = {
    name: "main",
    image: "shop/cart:1",
    env,
    resources: { requests: { cpu: "100m", memory: "128Mi" } },
  };
  fake.put(
    RESOURCES.deployments,
    deployment("cart", containers("cart", cart, { name: "proxy", image: "envoy:1" })),
  );
  const equal = { cpu: "1", memory: "1Gi" };
  fake.put(RESOURCES.deployments, deployment("quote", { requests: equal, limits: equal, replicas: 1 }));
  fake.put(RESOURCES.horizontalPodAutoscalers, hpa("cart-hpa", "cart"));
  fake.put(
    RESOURCES.deployments,
    deployment("cache", containers("cache", { name: "redis", image: "docker.io/library/redis:7-alpine" })),
  );
  fake.put(
    RESOURCES.statefulSets,
    deployment("db", { spec: { volumeClaimTemplates: [{ metadata: { name: "data" } }] } }),
  );
  for (const app of ["frontend", "cart", "quote", "cache"]) {
    fake.put(RESOURCES.services, {
      metadata: { name: app, namespace: "shop" },
      spec: { selector: { app } },
    });
  }
  fake.put(RESOURCES.ingresses, {
    metadata: { name: "shop", namespace: "shop" },
    spec: {
      rules: [
        {
          http: { paths: [{ path: "/", backend: { service: { name: "frontend", port: { number: 80 } } } }] },
        },
      ],
    },
  });
}

async function ofCluster(
  prepare: (fake: FakeApiServer) => void,
  options: Partial<InitOptions> = {},
): Promise<InitResult> {
  const fake = await FakeApiServer.start();
  prepare(fake);
  const client = new ApiClient(fake.connection());
  onTestFinished(async () => client.close());
  const { found } = await readCluster(client, "shop");
  return initialise(found, { ...OPTIONS, ...options });
}

const objectsIn = ({ files }: InitResult): KubeObject[] =>
  files.flatMap(({ yaml }) =>
    // As kubectl reads it.
    parseAllDocuments(yaml, { version: "1.1" }).map(
      (document) => (document as { toJS(): unknown }).toJS() as KubeObject,
    ),
  );
const named = (result: InitResult, kind: string, name: string) =>
  objectsIn(result).find((object) => object.kind === kind && object.metadata.name === name);

describe("tradewind init", () => {
  it("writes for a namespace what a person would have written", async () => {
    const { files } = await ofCluster(shop);
    for (const { name, yaml } of files) {
      const path = join(GOLDEN, name);
      if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(path, yaml);
      expect(existsSync(path)).toBe(true);
      expect(yaml).toBe(readFileSync(path, "utf8"));
    }
    expect(files.map(({ name }) => name)).toEqual([
      "application.yaml",
      "scaled-objects.yaml",
      "vertical-pod-autoscalers.yaml",
    ]);
  });

  it("writes an application that the predictor takes, and VPAs that the recommender takes for its own", async () => {
    const result = await ofCluster(shop);
    const application = named(result, "Application", "shop")!;
    const parsed = parseApplication({ ...(application.spec as object), ...application.metadata }, "it");
    expect(parsed).toMatchObject({ entry: "frontend", objective: { milliseconds: 250 }, mode: "recommend" });
    expect(parsed.services.map(({ name }) => name)).toEqual(["cartservice", "frontend", "quote"]);
    const written = named(result, "VerticalPodAutoscaler", "frontend")!;
    const vpa = VerticalPodAutoscaler.parse({ ...written, metadata: { ...written.metadata, uid: "x" } });
    expect(vpa).toMatchObject({ updateMode: "Off", recommenders: ["tradewind"] });
    const settled = { cpuCores: 0.4 };
    const advice = advise({
      vpa,
      workload: "frontend",
      pods: [cartPod(0)],
      settled,
      decided: settled,
      scalePoints: [],
      advised: [],
      act: true,
    });
    expect(advice.container?.resources.cpuCores?.target).toBe(0.4);
  });

  it("leaves alone what keeps state, and says so", async () => {
    const { notes } = await ofCluster(shop);
    expect(notes.filter((note) => note.startsWith("left out"))).toEqual([
      "left out: cache: it keeps state: 'docker.io/library/redis:7-alpine' keeps data; 'redis' is called like a store of data. A second pod of it is not more of the same",
      "left out: db: it keeps state: each of its pods has a volume of its own; it is a StatefulSet; 'db' is called like a store of data. A second pod of it is not more of the same",
    ]);
  });

  it("leaves out a load generator, which no Service leads to, unless it is named", async () => {
    const withLoad = (fake: FakeApiServer) => {
      shop(fake);
      fake.put(RESOURCES.deployments, deployment("loadgenerator"));
    };
    const result = await ofCluster(withLoad);
    expect(named(result, "ScaledObject", "loadgenerator")).toBeUndefined();
    expect(result.notes).toContainEqual(expect.stringMatching(/^left out: loadgenerator: it makes load/));
    for (const options of [{ include: ["loadgenerator"] }, { entry: "loadgenerator" }]) {
      const asked = await ofCluster(withLoad, options);
      expect(named(asked, "ScaledObject", "loadgenerator")).toBeDefined();
    }
    const both = await ofCluster(withLoad, { include: ["loadgenerator"], exclude: ["loadgenerator"] });
    expect(named(both, "ScaledObject", "loadgenerator")).toBeUndefined();
  });

  it("writes the external trigger alone, since KEDA can drop it beside another one", async () => {
    const scaledObjects = objectsIn(await ofCluster(shop)).filter(({ kind }) => kind === "ScaledObject");
    const types = scaledObjects.map(({ spec }) =>
      (spec as { triggers: { type: string }[] }).triggers.map(({ type }) => type),
    );
    expect(types).toEqual([["external"], ["external"], ["external"]]);
  });

  it("names the application in each trigger where a person named it: a namespace with several needs that", async () => {
    const applications = async (options: Partial<InitOptions>) =>
      objectsIn(await ofCluster(shop, options))
        .filter(({ kind }) => kind === "ScaledObject")
        .map(
          ({ spec }) =>
            (spec as { triggers: { metadata: { application?: string } }[] }).triggers[0]?.metadata
              .application,
        );
    expect(await applications({ name: "bank", nameGiven: true })).toEqual(["bank", "bank", "bank"]);
    expect(await applications({})).toEqual([undefined, undefined, undefined]);
  });

  it("says that nothing scales before the mode is act, since KEDA gets the current replica count until then", async () => {
    const { files, notes } = await ofCluster(shop);
    const record = {
      context: { mode: "recommend" },
      final: { replicas: 8 },
      wish: { observed: { replicasWanted: 3 } },
    };
    expect(answeredReplicas(record as unknown as DecisionRecord)).toBe(3);
    const [application, scaledObjects] = files;
    expect(application!.yaml).toContain(
      "mode: recommend # before this is act, KEDA gets the current replica count, and nothing scales",
    );
    expect(scaledObjects!.yaml).toContain(
      "takes over HPA 'cart-hpa': apply it once the Application's mode is act",
    );
    expect(notes).toContain(
      "cart has the HPA 'cart-hpa', which its ScaledObject takes over: apply that once the Application's mode is act; before, nothing would scale it",
    );
  });

  it("keeps the bounds of a ScaledObject that is there, and says whose they are", async () => {
    const result = await ofCluster((fake) => {
      shop(fake);
      fake.put(RESOURCES.scaledObjects, {
        metadata: { name: "web", namespace: "shop" },
        spec: {
          scaleTargetRef: { name: "frontend" },
          minReplicaCount: 5,
          maxReplicaCount: 60,
          triggers: [{ type: "cron", metadata: {} }],
        },
      });
    });
    const { spec } = named(result, "Application", "shop") as { spec: { services: object[] } };
    expect(spec.services).toContainEqual({ name: "frontend", minReplicas: 5, maxReplicas: 60 });
    expect(result.files[0]!.yaml).toContain("maxReplicas: 60 # as in ScaledObject 'web'");
  });

  it("says that sizes move where the cluster can resize running pods, and nothing of it elsewhere", async () => {
    const yamlWhere = async (resize: boolean) => (await ofCluster(shop, { resize })).files[0]!.yaml;
    expect(await yamlWhere(true)).toContain(
      "resize: limits # then sizes of running pods move, too; off keeps them",
    );
    expect(await yamlWhere(false)).not.toContain("resize");
  });

  it("asks the cluster whether running pods can be resized", async () => {
    const reading = async (resizesPods: boolean) => {
      const fake = await FakeApiServer.start();
      shop(fake);
      fake.resizesPods = resizesPods;
      const client = new ApiClient(fake.connection());
      onTestFinished(async () => client.close());
      return (await readCluster(client, "shop")).canResize;
    };
    expect(await reading(true)).toBe(true);
    expect(await reading(false)).toBe(false);
  });

  it("says of a ScaledObject that asks Tradewind only that others beside it are a risk", async () => {
    const notesFor = async (...others: object[]) => {
      const { notes } = await ofCluster((fake) => {
        shop(fake);
        const ours = { type: "external", metadata: { scalerAddress: "x:1", service: "frontend" } };
        fake.put(RESOURCES.scaledObjects, {
          metadata: { name: "frontend", namespace: "shop" },
          spec: { scaleTargetRef: { name: "frontend" }, triggers: [ours, ...others] },
        });
      });
      return notes.filter((note) => note.startsWith("frontend"));
    };
    expect(await notesFor()).toEqual([]);
    expect(await notesFor({ type: "cpu", metadata: { value: "1" } })).toEqual([
      expect.stringMatching(/with other triggers beside Tradewind's/),
    ]);
  });

  it("takes over an HPA, and leaves a ScaledObject and a VPA that are there to their owners", async () => {
    const result = await ofCluster((fake) => {
      shop(fake);
      fake.put(RESOURCES.scaledObjects, {
        metadata: { name: "frontend", namespace: "shop" },
        spec: { scaleTargetRef: { name: "frontend" }, triggers: [{ type: "cron", metadata: {} }] },
      });
      fake.put(RESOURCES.scaledObjects, {
        metadata: { name: "quote", namespace: "shop" },
        spec: {
          scaleTargetRef: { name: "quote" },
          triggers: [{ type: "cpu", metricType: "Utilization", metadata: { value: "60" } }],
        },
      });
      fake.put(RESOURCES.verticalPodAutoscalers, {
        metadata: { name: "mine", namespace: "shop" },
        spec: { targetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "frontend" } },
      });
    });
    expect(named(result, "ScaledObject", "cart")).toMatchObject({
      metadata: { annotations: { "scaledobject.keda.sh/transfer-hpa-ownership": "true" } },
      spec: {
        advanced: { horizontalPodAutoscalerConfig: { name: "cart-hpa" } },
        minReplicaCount: 3,
        maxReplicaCount: 12,
      },
    });
    expect(named(result, "ScaledObject", "frontend")).toBeUndefined();
    expect(named(result, "VerticalPodAutoscaler", "frontend")).toBeUndefined();
    expect(result.notes.join("\n")).toMatch(/put this trigger in the place of its own: \{"type":"external"/);
    expect(result.notes.join("\n")).toMatch(/the VPA 'mine' already/);
    const vpas = result.files.find(({ name }) => name === "vertical-pod-autoscalers.yaml")!.yaml;
    expect(vpas).toContain("# ScaledObject 'quote' scales on use relative to the request of cpu");
  });

  it.each([
    ["the only one that an Ingress or LoadBalancer leads to", shop, undefined, "frontend"],
    ["the one that is named", shop, "cartservice", "cartservice"],
    ["named by its workload", shop, "cart", "cartservice"],
    [
      "the one called like one",
      (fake: FakeApiServer) =>
        ["cart", "api-gateway", "geo"].forEach((name) => fake.put(RESOURCES.deployments, deployment(name))),
      undefined,
      "api-gateway",
    ],
    [
      "the only workload",
      (fake: FakeApiServer) => void fake.put(RESOURCES.deployments, deployment("one")),
      undefined,
      "one",
    ],
  ])("takes for the entry %s", async (_what, prepare, entry, expected) => {
    const result = await ofCluster(prepare, { entry });
    expect((named(result, "Application", "shop")!.spec as { entry: string }).entry).toBe(expected);
  });

  it("asks for the entry where it cannot be told, and for a namespace with something in it", async () => {
    const several = (fake: FakeApiServer) =>
      ["a", "b"].forEach((name) => fake.put(RESOURCES.deployments, deployment(name)));
    await expect(ofCluster(several)).rejects.toThrow(/name it with --entry: a, b/);
    await expect(ofCluster(several, { entry: "c" })).rejects.toThrow(
      /there is no 'c'; name it with --entry: a, b/,
    );
    await expect(ofCluster(() => undefined)).rejects.toThrow(
      /no Deployment, StatefulSet or Rollout .* in namespace 'shop'/,
    );
    const cache = (fake: FakeApiServer) =>
      void fake.put(
        RESOURCES.deployments,
        deployment("cache", containers("cache", { name: "redis", image: "redis" })),
      );
    await expect(ofCluster(cache)).rejects.toThrow(/left out: cache/);
  });

  it("asks for the entry where users reach a kind of which only the cluster knows", async () => {
    const sets = {
      group: "apps.example.org",
      version: "v1",
      plural: "clonesets",
      kind: "CloneSet",
      namespaced: true,
    };
    const withSet = (fake: FakeApiServer) => {
      fake.install(sets);
      fake.put(
        RESOURCES.deployments,
        deployment("cart", containers("cart", { name: "main", image: "shop/cart" })),
      );
      fake.put(sets, {
        metadata: { name: "web", namespace: "shop", uid: "set-web" },
        spec: {
          template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main" }] } },
        },
        scale: { spec: { replicas: 2 }, status: { replicas: 2, selector: "app=web" } },
      });
      for (const name of ["cart", "web"])
        fake.put(RESOURCES.services, {
          metadata: { name, namespace: "shop" },
          spec: {
            type: name === "web" ? "LoadBalancer" : "ClusterIP",
            selector: { app: name },
            ports: [{ port: 80 }],
          },
        });
    };
    await expect(ofCluster(withSet)).rejects.toMatchObject({
      message: expect.stringMatching(/--entry: cart/) as unknown,
      notes: ["left out: web: Tradewind does not read the kind CloneSet, though users reach it"],
    });
  });

  it("takes the latency objective that Pyrra or Sloth have for the entry, and says whose it is", async () => {
    const pyrra = (name: string, service: string, seconds: string): KubeObject => ({
      metadata: { name, namespace: "shop" },
      spec: {
        target: "99",
        window: "2w",
        indicator: {
          latency: { success: { metric: `h_seconds_bucket{service="${service}",le="${seconds}"}` } },
        },
      },
    });
    const result = await ofCluster(
      (fake) => {
        shop(fake);
        fake.put(RESOURCES.pyrraObjectives, pyrra("front-latency", "frontend", "0.4"));
        fake.put(RESOURCES.pyrraObjectives, pyrra("cart-latency", "cart", "0.1"));
      },
      { objectiveMilliseconds: undefined, burnRates: true },
    );
    expect(named(result, "Application", "shop")?.["spec"]).toMatchObject({
      objective: { milliseconds: 400, percentile: 0.99 },
    });
    expect(result.notes).toContain(
      "the objective is that of Pyrra 'front-latency'; --objective gives another",
    );
    expect(named(result, "PrometheusRule", "shop-burn-rates")).toBeDefined();
  });

  it("says that several objectives were found where none names the entry", async () => {
    const level: KubeObject = {
      metadata: { name: "levels", namespace: "shop" },
      spec: {
        slos: ["0.2", "0.3"].map((bound) => ({
          name: `under-${bound}`,
          objective: 95,
          sli: { events: { errorQuery: `1 - h_seconds_bucket{le="${bound}"}` } },
        })),
      },
    };
    const { notes, slo } = await ofCluster(
      (fake) => {
        shop(fake);
        fake.put(RESOURCES.slothLevels, level);
      },
      { objectiveMilliseconds: undefined },
    );
    expect(slo).toBeUndefined();
    expect(notes).toContain(
      "which of these objectives is the entry's cannot be told: Sloth 'under-0.2' (200 ms), Sloth 'under-0.3' (300 ms); give one with --objective",
    );
  });

  it("does with what somebody without all rights may read", async () => {
    const fake = await FakeApiServer.start();
    shop(fake);
    fake.uninstall(RESOURCES.scaledObjects);
    fake.addUser("viewer", "viewer", [
      {
        namespace: "shop",
        rules: [{ apiGroups: ["apps"], resources: ["deployments", "statefulsets"], verbs: ["list"] }],
      },
    ]);
    const client = new ApiClient(fake.connection("viewer"));
    onTestFinished(async () => client.close());
    const { absent, found, notes } = await readCluster(client, "shop");
    expect(found.workloads.map(({ name }) => name)).toContain("frontend");
    expect(absent).toEqual(["ScaledObject"]);
    expect(notes).toEqual([
      expect.stringMatching(/^you may not list services, ingresses, .* is not considered$/),
    ]);
  });
});

describe("tradewind init of manifests", () => {
  const files = async (contents: Record<string, string>): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), "tradewind-init-"));
    onTestFinished(async () => rm(folder, { recursive: true, force: true }));
    for (const [name, text] of Object.entries(contents)) await writeFile(join(folder, name), text);
    return folder;
  };
  const yamlOf = (name: string, namespace?: string) => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name}${namespace === undefined ? "" : `, namespace: ${namespace}`} }
spec: { template: { spec: { containers: [{ name: main, image: shop/main, resources: { requests: { cpu: 0.25 } } }] } } }
`;
  const noInput = async () => Promise.resolve("");

  it("reads files, folders, several documents, lists and standard input, and passes over other namespaces and kinds", async () => {
    const folder = await files({
      "a.yaml": `${yamlOf("web")}---${yamlOf("elsewhere", "other")}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n`,
      "b.json": JSON.stringify({ kind: "List", items: [{ ...deployment("cart"), kind: "Deployment" }] }),
      "notes.txt": "not a manifest",
    });
    const { found, notes } = await readManifests([folder, "-"], "shop", async () =>
      Promise.resolve(yamlOf("piped")),
    );
    expect(found.workloads.map(({ name }) => name).sort()).toEqual(["cart", "piped", "web"]);
    expect(notes).toEqual([expect.stringMatching(/namespace 'other'/)]);
  });

  it("goes on past files that are no YAML and objects it does not understand, and names them", async () => {
    const folder = await files({
      "bad.yaml": "a: [",
      "odd.yaml": `${yamlOf("web")}---\nkind: Deployment\nmetadata: {name: odd}\n---\njust text\n`,
    });
    const { found, notes } = await readManifests([folder], "shop", noInput);
    expect(found.workloads).toHaveLength(1);
    expect(notes).toEqual([
      expect.stringMatching(/bad\.yaml: the document at line 1 cannot be read/),
      expect.stringMatching(/odd\.yaml: something that is no Kubernetes object/),
      expect.stringMatching(/odd\.yaml: Deployment 'odd' is left out: spec: Invalid input: expected object/),
    ]);
  });

  it("as a command writes files once, says what a person should know, and ends with 2 when not understood", async () => {
    const folder = await files({ "web.yaml": yamlOf("web") });
    const run = async (...flags: string[]) =>
      promisify(execFile)(process.execPath, [
        PROGRAM,
        "init",
        "--manifests",
        join(folder, "web.yaml"),
        ...flags,
      ]).then(
        ({ stderr, stdout }) => ({ code: 0, stdout, stderr }),
        (error: { code: number; stdout: string; stderr: string }) => error,
      );
    const output = join(folder, "out");
    const first = await run("--objective", "0.3s", "--output", output);
    expect({ code: first.code, stdout: first.stdout }).toEqual({ code: 0, stdout: "" });
    expect(await readdir(output)).toEqual(["application.schema", "application.yaml", "scaled-objects.yaml"]);
    expect(readFileSync(join(output, "application.yaml"), "utf8")).toContain("milliseconds: 300 # 95 of 100");
    const again = await run("--output", output);
    expect(again).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("files of an earlier run") as string,
    });
    expect(await run("--entry", "nobody")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--entry: web") as string,
    });
  });
});
