import { describe, expect, it, onTestFinished } from "vitest";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import { startExporter } from "@tradewind/exporter/exporter.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { RunningApplication } from "../predictor/running-application.ts";
import { freePort } from "../free-port.ts";
import { secretFile } from "../predictor/sources/peers/nodes.ts";
import { waitUntil } from "../wait-until.ts";

const WINDOW_SECONDS = 2;

const json = async <Body>(url: string): Promise<Body | undefined> => {
  const response = await fetch(url).catch(() => undefined);
  return response?.ok === true ? ((await response.json()) as Body) : undefined;
};

/** Two pods as the chart makes them: an exporter with a predictor beside it, all of which know each other. */
async function pods() {
  const application = await RunningApplication.start();
  onTestFinished(async () => application.stop());
  const [peerA, peerB, httpA, httpB] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const peers = [peerA, peerB].map((port) => `http://127.0.0.1:${port}`);
  const peersSecretFile = secretFile();
  const start = async (peer: number, http: number): Promise<Running> => {
    const running = await startPredictor({
      config: application.config,
      workloads: application.workloads,
      agents: [application.agent.url],
      listen: `127.0.0.1:${http}`,
      otlpListen: "127.0.0.1:0",
      peers,
      peersListen: `127.0.0.1:${peer}`,
      peersSecretFile,
      windowSeconds: WINDOW_SECONDS,
      graceSeconds: 0.4,
      policy: "queue",
      logLevel: "silent",
      agentPollMs: 200,
    });
    onTestFinished(async () => running.stop());
    return running;
  };
  const [predictorA, predictorB] = [await start(peerA, httpA), await start(peerB, httpB)];
  const urls = [httpA, httpB].map((port) => `http://127.0.0.1:${port}`);
  const exporters: Running[] = [];
  for (const predictor of [urls.join(), urls.toReversed().join()]) {
    const exporter = await startExporter({
      listen: "127.0.0.1:0",
      grpcListen: "127.0.0.1:0",
      predictor,
      restartGrace: 0,
      pollMs: 100,
      predictorDeadline: 0.5,
      logLevel: "silent",
    });
    onTestFinished(async () => exporter.stop());
    exporters.push(exporter);
  }
  const otlp = [predictorA, predictorB].map(({ addresses }) => addresses["otlp"]!);
  const windows = async (index: number) => json<WindowSet>(`${urls[index]}/v1/windows`);
  const plan = async (index: number) => json<Plan>(`${urls[index]}/v1/plan`);
  const served = async () =>
    Promise.all(
      exporters.map(async ({ addresses }) => {
        const list = RecommendationList.parse(await json(`${addresses["http"]}/v1/recommendations`));
        const numbers = list.recommendations.map(({ replicas, service }) => [service, replicas] as const);
        return { numbers: Object.fromEntries(numbers), lastPlanAtMs: list.predictor.lastPlanAtMs };
      }),
    );
  return { application, otlp, plan, predictorA, predictorB, served, windows };
}

describe("two pods behind one OTLP Service", () => {
  it("see the same traffic, serve the same numbers, and go on with them when the older predictor dies", async () => {
    const { application, otlp, plan, predictorA, served, windows } = await pods();
    // Each client's connection ends at one of the two.
    const stopping = new AbortController();
    const clients = otlp.map(async (address) => {
      while (!stopping.signal.aborted) {
        await application.sendTraces(address, 5, 300).catch(() => undefined);
        await new Promise((resolve) => {
          setTimeout(resolve, 100);
        });
      }
    });
    onTestFinished(async () => {
      stopping.abort();
      await Promise.all(clients);
    });

    const rateOf = (set: WindowSet | undefined) =>
      set?.windows.find(({ service }) => service === "frontend")?.requestsPerSecond;
    await waitUntil(
      async () => {
        const [a, b] = [await windows(0), await windows(1)];
        const [rateA, rateB] = [rateOf(a), rateOf(b)];
        return (
          a?.endMs === b?.endMs && rateA !== undefined && rateB !== undefined && rateA > 30 && rateA === rateB
        );
      },
      20_000,
      "both predictors count the requests of both clients",
    );
    expect(await plan(0)).toMatchObject({ complete: true, windowSeconds: WINDOW_SECONDS });

    const [older] = [await plan(0)];
    expect(older!.predictorStartedAtMs).toBeLessThanOrEqual((await plan(1))!.predictorStartedAtMs);
    await waitUntil(
      async () => {
        const [one, other] = await served();
        return (
          Object.keys(one!.numbers).length > 0 &&
          JSON.stringify(one) === JSON.stringify(other) &&
          one!.lastPlanAtMs === (await plan(0))?.plannedAtMs
        );
      },
      20_000,
      "both exporters serve the older predictor's plan",
    );

    const before = (await served())[0]!.numbers;
    await predictorA.stop();
    await waitUntil(
      async () => {
        const [one, other] = await served();
        const taken = (await plan(1))?.plannedAtMs;
        return taken !== undefined && one!.lastPlanAtMs === taken && other!.lastPlanAtMs === taken;
      },
      20_000,
      "both exporters serve the other predictor's plan",
    );
    const [one, other] = await served();
    expect(one!.numbers).toEqual(other!.numbers);
    // geo takes most of the time, so what it needs is the same in every window; the frontend is at the edge of a pod.
    expect(one!.numbers["geo"]).toBeGreaterThanOrEqual(before["geo"]!);
    for (const [service, running] of Object.entries(application.replicas)) {
      expect(one!.numbers[service]).toBeGreaterThanOrEqual(running);
    }
    // The survivor gets the other's clients, not a part of the traffic of unknown size for good.
    await waitUntil(
      async () => (await plan(1))?.complete === true,
      10_000,
      "the survivor's windows are whole",
    );
  }, 60_000);
});
