import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { CHART, helm, runHelm } from "../../charts/helm.ts";
import { until } from "../../exporter/until.ts";
import { run } from "../build/run.ts";
import { measured } from "../measured.ts";
import { hotelObjects } from "./hotel/objects.ts";
import { ROOT } from "./images/buildah.ts";
import { nodeCluster, PATIENCE_MS, TIMEOUT_MS } from "./node.ts";

const node = helm === undefined ? undefined : nodeCluster();
const SERVICES = ["frontend", "search", "geo", "rate", "profile", "recommendation", "user", "reservation"];
/** The application as a resource, so that `kubectl get applications` shows it; requests that fit a small node. */
const VALUES = {
  global: { image: { registry: "localhost" } },
  application: {
    from: "Resource",
    spec: {
      name: "hotel",
      namespace: "shop",
      entry: "frontend",
      objective: { percentile: 0.95, milliseconds: 300 },
      services: SERVICES.map((name) => ({ name, minReplicas: 1, maxReplicas: 4 })),
    },
  },
  scaler: { minReadySeconds: 5, events: { enabled: true }, resources: { requests: { cpu: "20m" } } },
  predictor: { resources: { requests: { cpu: "50m" } } },
};

const Deployments = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string() }),
      spec: z.object({ replicas: z.number() }),
      status: z.object({ readyReplicas: z.number().default(0) }),
    }),
  ),
});

describe.skipIf(node === undefined)("the quickstart on a real node", { timeout: TIMEOUT_MS }, () => {
  const { kubeconfig, kubectl } = node ?? { kubeconfig: "", kubectl: async () => Promise.resolve("") };
  let folder = "";
  const startedMs = performance.now();
  const reached = (what: string): void =>
    measured(`quickstart: ${what}, from the start`, (performance.now() - startedMs) / 1e3);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "tradewind-quickstart-"));
    for (const name of ["shop", "tradewind"]) await kubectl("create", "namespace", name);
  });
  afterAll(async () => {
    await runHelm("uninstall", "tradewind", "--namespace=tradewind", `--kubeconfig=${kubeconfig}`, "--wait");
    for (const name of ["shop", "tradewind"])
      await kubectl("delete", "namespace", name, "--ignore-not-found", "--wait=true");
    await rm(folder, { recursive: true, force: true });
  }, TIMEOUT_MS);

  const apply = async (objects: object): Promise<void> => {
    const file = join(folder, "objects.json");
    await writeFile(file, JSON.stringify(objects));
    await kubectl("apply", "--filename", file);
  };
  const succeeds = async (...args: readonly string[]): Promise<string> => {
    const { ok, stderr, stdout } = await runHelm(
      ...args,
      "--namespace=tradewind",
      `--kubeconfig=${kubeconfig}`,
    );
    expect(ok, `helm ${args[0]}: ${stderr}`).toBe(true);
    return stdout;
  };
  const tradewind = async (...args: readonly string[]): Promise<string> =>
    run("node", [join(ROOT, "bin", "tradewind.mjs"), ...args], {});
  /** Services can be reached from this machine. */
  const scaler = async (): Promise<string> => {
    const place = ["service/tradewind-http", "--namespace=tradewind"];
    return `http://${await kubectl("get", ...place, "--output=jsonpath={.spec.clusterIP}")}:9812`;
  };
  const list = async (): Promise<RecommendationList> =>
    RecommendationList.parse(await (await fetch(`${await scaler()}/v1/recommendations`)).json());
  /** `spec.replicas` and how many are ready, by Deployment. */
  const replicas = async (): Promise<Map<string, { wanted: number; ready: number }>> => {
    const text = await kubectl("get", "deployments", "--namespace=shop", "--output=json");
    return new Map(
      Deployments.parse(JSON.parse(text)).items.map(({ metadata, spec, status }) => [
        metadata.name,
        { wanted: spec.replicas, ready: status.readyReplicas },
      ]),
    );
  };

  it("installs beside an application, and recommends something for every service", async () => {
    await apply(hotelObjects());
    const values = join(folder, "tradewind.json");
    await writeFile(values, JSON.stringify(VALUES));
    await succeeds(
      "upgrade",
      "--install",
      "tradewind",
      CHART,
      `--values=${values}`,
      "--wait",
      "--timeout=8m",
    );
    reached("installed");
    expect(await succeeds("test", "tradewind")).toContain("Succeeded");
    await kubectl(
      "wait",
      "--for=condition=Available",
      "deployments",
      "--all",
      "--namespace=shop",
      "--timeout=300s",
    );
    await until(
      "there is a recommendation for every service",
      async () => {
        const services = new Set((await list()).recommendations.map((each) => each.service));
        return SERVICES.every((name) => services.has(name));
      },
      PATIENCE_MS,
    );
    reached("a recommendation for every service");
    expect((await list()).mode).toBe("observe");
  });

  it("hands over to KEDA by what init writes, and more load gets more pods", async () => {
    const written = join(folder, "scaling");
    const what = ["--namespace=shop", "--entry=frontend", "--objective=300ms", "--exclude=users"];
    await tradewind("init", ...what, `--kubeconfig=${kubeconfig}`, "--output", written);
    expect(await readFile(join(written, "scaled-objects.yaml"), "utf8")).toContain("name: reservation");
    await kubectl("apply", "--filename", join(written, "scaled-objects.yaml"));
    const ready = ["wait", "--for=condition=Ready", "scaledobjects", "--all", "--namespace=shop"];
    await kubectl(...ready, "--timeout=300s");
    reached("ScaledObjects ready");
    await succeeds(
      "upgrade",
      "tradewind",
      CHART,
      "--reuse-values",
      "--set=application.spec.mode=act",
      "--wait",
    );
    await until("the scaler acts", async () => (await list()).mode === "act", PATIENCE_MS);
    reached("mode act");
    await kubectl("scale", "deployment/users", "--namespace=shop", "--replicas=8");
    await until(
      "a service runs as many pods as are recommended, more than one",
      async () => {
        const running = await replicas();
        return (await list()).recommendations.some(
          ({ service, replicas: recommended }) =>
            recommended > 1 && running.get(service)?.ready === recommended,
        );
      },
      PATIENCE_MS,
    );
    reached("replicas follow the load");
  });

  it("is seen by kubectl get applications, tradewind status and tradewind doctor", async () => {
    // Its status comes with the first round of a leader that follows it.
    let [header, row] = ["", ""];
    await until(
      "the application has a status",
      async () => {
        [header = "", row = ""] = (await kubectl("get", "applications", "--namespace=shop")).split("\n");
        return /\bTrue\b/.test(row);
      },
      PATIENCE_MS,
    );
    reached("a status");
    for (const column of ["NAME", "OBJECTIVE(MS)", "MEASURED(MS)", "REPLICAS", "READY"])
      expect(header.split(/\s{2,}/)).toContain(column);
    expect(row).toMatch(/^hotel .*\b300\b.*\d+ → \d+ .*\bTrue\b/);
    const status = await tradewind("status", "--scaler", await scaler());
    for (const name of SERVICES) expect(status).toContain(name);
    const inPod = [
      "exec",
      "deployment/tradewind-scaler",
      "--namespace=tradewind",
      "--container=predictor",
      "--",
    ];
    const flags = [
      "--config=crd:shop/hotel",
      "--predictor=http://127.0.0.1:9811",
      "--workloads=kubernetes:shop",
    ];
    const doctor = await kubectl(...inPod, "node", "cli/main.js", "doctor", ...flags);
    expect(doctor).not.toContain("PROBLEM");
  });
});
