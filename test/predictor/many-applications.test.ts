import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import { startExporter } from "@tradewind/exporter/exporter.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { freePort } from "../free-port.ts";
import { waitUntil } from "../wait-until.ts";
import { secretFile } from "./sources/peers/nodes.ts";

const PATIENCE_MS = 60_000;
const NAMES = Array.from({ length: 8 }, (_, index) => `shop-${index}`);

/** Files of eight applications. */
async function applications(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tradewind-many-"));
  onTestFinished(async () => rm(folder, { recursive: true, force: true }));
  for (const name of NAMES) {
    const application = { name, namespace: name, entry: "web", objective: { milliseconds: 100 } };
    await writeFile(join(folder, `${name}.json`), JSON.stringify(application));
  }
  return folder;
}

it("of three predictors two plan each application, the scaler has the plans of all, and one that dies is replaced", async () => {
  const config = await applications();
  const ports = [await freePort(), await freePort(), await freePort()];
  const peersSecretFile = secretFile();
  const running = new Map<number, Running>();
  for (const port of ports) {
    const predictor = await startPredictor({
      config,
      listen: "127.0.0.1:0",
      otlpListen: "127.0.0.1:0",
      peers: ports.map((each) => `http://127.0.0.1:${each}`),
      peersListen: `127.0.0.1:${port}`,
      peersSecretFile,
      plannersPerApplication: 2,
      windowSeconds: 1,
      graceSeconds: 0.1,
      policy: "static",
      logLevel: "silent",
    });
    running.set(port, predictor);
    onTestFinished(async () => predictor.stop());
  }
  /** Predictors that have a plan for an application. */
  const planners = async (name: string): Promise<number> => {
    const statuses = await Promise.all(
      [...running.values()].map(async ({ addresses }) => {
        const answer = await fetch(`${addresses["http"]}/v1/plan?namespace=${name}&application=${name}`);
        await answer.arrayBuffer();
        return answer.status;
      }),
    );
    return statuses.filter((status) => status === 200).length;
  };
  const least = async (): Promise<number> => Math.min(...(await Promise.all(NAMES.map(planners))));
  await waitUntil(async () => (await least()) >= 2, PATIENCE_MS, "two plan each application");

  const exporter = await startExporter({
    listen: "127.0.0.1:0",
    grpcListen: "127.0.0.1:0",
    predictor: [...running.values()].map(({ addresses }) => addresses["http"]).join(","),
    pollMs: 100,
    logLevel: "silent",
  });
  onTestFinished(async () => exporter.stop());
  const heads = async (): Promise<number> => {
    const answer = await fetch(`${exporter.addresses["http"]}/v1/recommendations`);
    const { applications: known = [] } = RecommendationList.parse(await answer.json());
    return known.filter(({ lastPlanAtMs, problem }) => lastPlanAtMs !== undefined && problem === undefined)
      .length;
  };
  await waitUntil(
    async () => (await heads()) === NAMES.length,
    PATIENCE_MS,
    "the scaler has the plans of all",
  );

  const [[first, dying] = [0, undefined]] = running;
  running.delete(first);
  await dying?.stop();
  await waitUntil(async () => (await least()) >= 2, PATIENCE_MS, "two plan each application again");
  expect(await least()).toBe(2);
});

it("the histories of several applications have store.maxBytes between them, as applications come and go", async () => {
  const config = await applications();
  const state = await mkdtemp(join(tmpdir(), "tradewind-many-state-"));
  onTestFinished(async () => rm(state, { recursive: true, force: true }));
  const sources = join(state, "sources.yaml");
  await writeFile(sources, "store: { maxBytes: 8000000 }");
  const predictor = await startPredictor({
    config,
    state,
    sources,
    listen: "127.0.0.1:0",
    otlpListen: "127.0.0.1:0",
    policy: "static",
    logLevel: "silent",
  });
  onTestFinished(async () => predictor.stop());
  const limits = async (): Promise<number[]> => {
    const text = await (await fetch(`${predictor.addresses["http"]}/metrics`)).text();
    return [...text.matchAll(/^tradewind_store_max_bytes\{.*\} (\d+)$/gm)].map(([, value]) => Number(value));
  };
  const isShared = async (count: number): Promise<boolean> => {
    const each = await limits();
    return each.length === count && each.every((limit) => limit === 8e6 / count);
  };
  await waitUntil(async () => isShared(8), PATIENCE_MS, "an eighth each");
  for (const name of NAMES.slice(4)) await rm(join(config, `${name}.json`));
  await waitUntil(async () => isShared(4), PATIENCE_MS, "a quarter each");
});

it("a number of planners without other predictors is refused", async () => {
  const options = { config: await applications(), listen: "127.0.0.1:0", otlpListen: "127.0.0.1:0" };
  const started = startPredictor({ ...options, plannersPerApplication: 2, logLevel: "silent" });
  await expect(started).rejects.toThrow("--planners-per-application needs --peers");
});
