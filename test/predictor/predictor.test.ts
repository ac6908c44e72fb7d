import { execFileSync } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { ApplicationContext } from "@tradewind/core/contract/context.ts";
import { LoadForecast } from "@tradewind/core/contract/forecast.ts";
import { PatternList } from "@tradewind/core/contract/pattern.ts";
import { Plan } from "@tradewind/core/contract/plan.ts";
import { ProposedChanges } from "@tradewind/core/contract/proposed-change.ts";
import type { ProposedChange } from "@tradewind/core/contract/proposed-change.ts";
import { WindowSet } from "@tradewind/core/contract/window.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PredictorOptionsInput } from "@tradewind/predictor/run/process/options.ts";
import { DESCRIBED } from "@tradewind/predictor/api/described.ts";
import { PolicyInputs } from "@tradewind/predictor/decide/inputs.ts";
import { replay } from "@tradewind/predictor/decide/replay.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { HISTORY_FILE } from "@tradewind/predictor/store/history-file.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { describedAnswers } from "../described-answers.ts";
import { freePort } from "../free-port.ts";
import { installed } from "../installed.ts";
import { waitUntil } from "../wait-until.ts";
import { startFakeAgent } from "./fake-agent.ts";
import type { FakeAgent } from "./fake-agent.ts";
import { RunningApplication } from "./running-application.ts";
import { secretFile } from "./sources/peers/nodes.ts";
import { aWindow } from "./store/windows-of.ts";

const promtool = installed("promtool");

const options = (application: RunningApplication, more: Partial<PredictorOptionsInput> = {}) =>
  application.predictorOptions({ agentTimeoutMs: 300, ...more });

const get = async (running: Running, path: string): Promise<Response> =>
  fetch(`${running.addresses["http"]}${path}`);
async function plan(running: Running): Promise<Plan | undefined> {
  const answer = await get(running, "/v1/plan");
  const body: unknown = await answer.json();
  return answer.status === 200 ? Plan.parse(body) : undefined;
}
/** The wishes as they were decided: what runs each service is named afterwards. */
const decidedWishes = ({ wishes }: Plan): object[] =>
  wishes.map((wish) => ({ ...wish, workloads: undefined }));
const replicasOf = (made: Plan | undefined): Record<string, number> =>
  Object.fromEntries((made?.wishes ?? []).map(({ service, allocation }) => [service, allocation.replicas]));
async function nextPlan(running: Running, fits: (made: Plan) => boolean): Promise<Plan> {
  let found: Plan | undefined;
  await waitUntil(async () => {
    const made = await plan(running);
    if (made !== undefined && fits(made)) found = made;
    return found !== undefined;
  }, 15_000);
  return found!;
}

/** What promtool finds wrong with metrics; nothing where it is not installed. */
const faultsOf = (text: string): string =>
  promtool === undefined
    ? ""
    : execFileSync(promtool, ["check", "metrics"], { input: text, encoding: "utf8" });

/** Sends traces all the time, so that every window has some. */
function load(application: RunningApplication, running: Running, totalMs: number, count = 10): () => void {
  const timer = setInterval(() => {
    void application.sendTraces(running.addresses["otlp"]!, count, totalMs).catch(() => undefined);
  }, 100);
  return () => clearInterval(timer);
}

describe("a predictor that proposes more replicas and is started again with its state", () => {
  it("still says which plan changed which size, and why", async () => {
    const application = await RunningApplication.start();
    application.podUsageCores = 0.45;
    const started = await startPredictor(options(application, { state: application.state, policy: "queue" }));
    const stopLoad = load(application, started, 250);
    const changes = async (running: Running, query = ""): Promise<ProposedChange[]> => {
      const answer = await get(running, `/v1/decisions${query}`);
      return ProposedChanges.parse(await answer.json()).decisions;
    };
    try {
      const made = await nextPlan(started, (one) => (replicasOf(one)["geo"] ?? 0) > 2);
      const first = (await changes(started, "?service=geo")).at(-1)!;
      expect(first).toMatchObject({ service: "geo", before: { replicas: 2 } });
      expect(first.proposal.allocation.replicas).toBeGreaterThan(2);
      expect(first.proposal.reasons).toContainEqual({
        code: "replicas",
        fromReplicas: 2,
        toReplicas: first.proposal.allocation.replicas,
      });
      expect(first.decidedAtMs).toBeLessThanOrEqual(made.plannedAtMs);
      stopLoad();
      await started.stop();

      const again = await startPredictor(options(application, { state: application.state, policy: "queue" }));
      try {
        expect((await changes(again, "?service=geo")).at(-1)).toEqual(first);
        expect(await changes(again, "?service=nobody")).toEqual([]);
        expect((await get(again, "/v1/decisions?service=a&service=b")).status).toBe(400);
      } finally {
        await again.stop();
      }
    } finally {
      stopLoad();
      await started.stop();
      await application.stop();
    }
  });
});

describe("a predictor with slow requests, an agent and workloads", () => {
  let application: RunningApplication;
  let running: Running;
  let stopLoad: () => void;
  beforeAll(async () => {
    application = await RunningApplication.start();
    application.podUsageCores = 0.45;
    running = await startPredictor(options(application, { state: application.state, policy: "queue" }));
    stopLoad = load(application, running, 250);
  });
  afterAll(async () => {
    stopLoad();
    await running.stop();
    await application.stop();
  });

  it("measures the miss and wishes more of the service where the queue is", async () => {
    const made = await nextPlan(running, (one) => (replicasOf(one)["geo"] ?? 0) > 2);
    expect(made.policy).toBe("queue");
    expect(made.measuredLatencySeconds).toBeCloseTo(0.25, 2);
    const wish = made.wishes.find(({ service }) => service === "geo")!;
    expect(wish.allocation.replicas).toBeGreaterThan(2);
    expect(wish.evidence["cpuDemandCores"]).toBeCloseTo(0.9, 1);
    expect(wish.observed).toMatchObject({ replicasReady: 2, replicasWanted: 2, complete: true });
  });

  it("serves the window it decided on, and the inputs that replay the decision bit for bit", async () => {
    const made = await nextPlan(running, ({ policy }) => policy === "queue");
    const hash = made.wishes[0]!.inputs.windowHash;
    const inputs = PolicyInputs.parse(await (await get(running, `/v1/inputs/${hash}`)).json());
    expect(WindowSet.parse(await (await get(running, "/v1/windows")).json()).endMs).toBeGreaterThanOrEqual(
      inputs.windowSet.endMs,
    );
    expect(JSON.stringify(replay(inputs).plan.wishes)).toBe(JSON.stringify(decidedWishes(made)));
    const { hashes } = (await (await get(running, "/v1/inputs")).json()) as { hashes: string[] };
    expect(hashes).toContain(hash);
    expect((await get(running, "/v1/inputs/0123456789abcdef")).status).toBe(404);
  });

  it("counts plans up by one a window", async () => {
    const first = await nextPlan(running, () => true);
    const second = await nextPlan(running, ({ sequence }) => sequence > first.sequence);
    const endMs = ({ wishes }: Plan): number => wishes[0]!.inputs.windowEndMs;
    expect(second.sequence - first.sequence).toBe((endMs(second) - endMs(first)) / 1e3);
    expect(second.predictorStartedAtMs).toBe(first.predictorStartedAtMs);
  });

  it("shows queues, ages and counts in its metrics", async () => {
    await nextPlan(running, ({ policy }) => policy === "queue");
    const text = await (await get(running, "/metrics")).text();
    expect(text).toMatch(
      /tradewind_predictor_queue_virtual_ratio\{namespace="default",service="geo"\} 0\.\d+/,
    );
    expect(text).toMatch(/tradewind_predictor_queue_own_requests\{namespace="default",service="geo"\} \d/);
    expect(text).toMatch(/tradewind_predictor_policy_info\{policy="queue",choice="queue"\} 1/);
    expect(text).toMatch(/tradewind_predictor_spans_total\{result="accepted"\} [1-9]/);
    expect(text).toMatch(/tradewind_predictor_window_age_seconds \d/);
    expect(text).toMatch(/^tradewind_predictor_requests_total\{application="\w+",result="bad"\} [1-9]/m);
    expect(text).toMatch(/^tradewind_predictor_objective_ratio\{application="\w+"\} 0\.95$/m);
    expect(text).toMatch(/tradewind_source_requests_total\{source="127\.0\.0\.1:\d+",kind="agent"\} [1-9]/);
    expect(text).toMatch(/^process_cpu_seconds_total \d/m);
    expect(text).toMatch(/^process_resident_memory_bytes [1-9]\d{7}/m);
  });

  it.skipIf(promtool === undefined)("has metrics that promtool finds nothing wrong with", async () => {
    await nextPlan(running, ({ policy }) => policy === "queue");
    const text = await (await get(running, "/metrics")).text();
    expect(faultsOf(text)).toBe("");
  });

  it("describes all its routes, and answers as it describes", async () => {
    await nextPlan(running, ({ policy }) => policy === "queue");
    expect(await describedAnswers(running.addresses["http"]!, DESCRIBED)).toEqual(
      expect.arrayContaining([
        "/v1/applications",
        "/v1/plan",
        "/v1/plan/header",
        "/v1/windows",
        "/v1/measured",
        "/v1/routes",
        "/v1/course",
        "/v1/incidents",
        "/v1/context",
        "/v1/patterns",
        "/v1/explain",
        "/v1/accuracy",
        "/v1/transcripts",
        "/v1/decisions",
        "/v1/inputs",
        "/v1/proposals",
        "/metrics",
        "/healthz",
      ]),
    );
  });

  it("refuses what it does not know, in words", async () => {
    const lost = await get(running, "/v2/plan");
    expect(lost.status).toBe(404);
    expect(await lost.json()).toMatchObject({ error: { code: "not-found" } });
    expect((await fetch(`${running.addresses["http"]}/v1/plan`, { method: "POST" })).status).toBe(404);
  });

  it("refuses a report of times that no date has", async () => {
    const queries = ["from=1e22&to=1.0000000000000002e22", "from=-1&to=1", "from=1&to=Infinity"];
    for (const query of queries) expect((await get(running, `/v1/report?${query}`)).status).toBe(400);
  });
});

describe("a predictor with policy auto", () => {
  it("decides by its queueing models, and its decision can be made again", async () => {
    const application = await RunningApplication.start();
    application.podUsageCores = 0.2;
    await application.fixReplicas();
    const running = await startPredictor(options(application, { state: application.state }));
    const stopLoad = load(application, running, 60);
    try {
      const made = await nextPlan(running, ({ policy }) => policy === "planner-prior");
      expect(made.policyReasons).toMatchObject([{ code: "expected-misses" }, { code: "error-budget" }]);
      const wish = made.wishes.find(({ service }) => service === "geo")!;
      expect(wish.inputs.modelHash).toMatch(/^[0-9a-f]{16}$/);
      expect(wish.latencyAfterSeconds).toBeGreaterThan(0);
      const answer = await get(running, `/v1/inputs/${wish.inputs.windowHash}`);
      const inputs = PolicyInputs.parse(await answer.json());
      expect(inputs.nodes, "no container is moved").toBeUndefined();
      expect(inputs).toMatchObject({
        largestContainer: { cpuCores: 4, memoryBytes: 8e9 },
        allNodes: { cpuCores: 4, memoryBytes: 8e9 },
      });
      expect(JSON.stringify(replay(inputs).plan.wishes)).toBe(JSON.stringify(decidedWishes(made)));
      expect((await get(running, "/v1/models/0123456789abcdef")).status).toBe(404);
      await nextPlan(running, ({ sequence }) => sequence > made.sequence + 3);
      const text = await (await get(running, "/metrics")).text();
      expect(text).toMatch(/profile_maturity\{namespace="default",service="geo"\} 2/);
      expect(text).toMatch(/profile_rule_error_ratio\{namespace="default",service="geo"\} \d/);
      expect(faultsOf(text)).toBe("");
      expect(text).toMatch(/tail_prediction_error_ratio 0?\.?\d/);
      expect(text).toMatch(/policy_info\{policy="planner-prior",choice="auto"\} 1/);
    } finally {
      stopLoad();
      await running.stop();
      await application.stop();
    }
  });

  it("knows the season of a load that its store holds, although it remembers nothing else", async () => {
    const application = await RunningApplication.start();
    await mkdir(application.state, { recursive: true });
    const store = new SqliteStore({
      path: join(application.state, HISTORY_FILE),
      log: createLog("test", "silent"),
    });
    const endMs = Math.floor(Date.now() / 60_000) * 60_000;
    for (let minute = 180; minute > 0; minute -= 1) {
      const startMs = endMs - 60_000 * minute;
      const requestsPerSecond = minute % 30 < 4 ? 500 : 100;
      const ownLatency = {
        count: 100,
        meanSeconds: 0.01,
        p50Seconds: 0.01,
        p95Seconds: 0.02,
        p99Seconds: 0.03,
      };
      const facts = { service: "frontend", namespace: "default", requestsPerSecond, ownLatency };
      const one = aWindow({ ...facts, startMs, endMs: startMs + 60_000 });
      store.append({ startMs, endMs: startMs + 60_000, windows: [one], flows: [] });
    }
    await store.close();
    const running = await startPredictor(options(application, { state: application.state }));
    const stopLoad = load(application, running, 60);
    try {
      await waitUntil(async () => {
        const answer = await get(running, "/v1/forecast");
        if (answer.status !== 200) return false;
        return LoadForecast.parse(await answer.json()).season?.seasonSeconds === 1_800;
      }, 15_000);
      await waitUntil(async () => {
        const { patterns } = PatternList.parse(await (await get(running, "/v1/patterns")).json());
        return patterns.some(({ kind }) => kind === "season");
      }, 15_000);
      const context = await get(running, "/v1/context");
      const { forecast, patterns, services } = ApplicationContext.parse(await context.json());
      expect(forecast?.season?.seasonSeconds).toBe(1_800);
      expect(patterns.map(({ kind }) => kind)).toContain("season");
      expect(services.map(({ service }) => service)).toContain("frontend");
      const metrics = await (await get(running, "/metrics")).text();
      expect(metrics).toMatch(/^tradewind_pattern_confidence_ratio\{kind="season"\} (1|0\.\d+)$/m);
    } finally {
      stopLoad();
      await running.stop();
      await application.stop();
    }
  });

  it("plans for a surge before the window in which it begins is over, and that decision can be made again", async () => {
    const application = await RunningApplication.start();
    application.podUsageCores = 0.2;
    const running = await startPredictor(options(application, { windowSeconds: 3, graceSeconds: 0.5 }));
    const loads = [load(application, running, 20, 4)];
    try {
      await nextPlan(running, ({ policy }) => policy === "planner-prior");
      loads.push(load(application, running, 20, 16));
      const decided = new Map<number, string>();
      const made = await nextPlan(running, ({ wishes }) => {
        const { windowEndMs, windowHash } = wishes[0]!.inputs;
        const before = decided.get(windowEndMs);
        decided.set(windowEndMs, windowHash);
        const isSecondLook = before !== undefined && before !== windowHash;
        return (
          isSecondLook &&
          wishes.some(({ service, allocation }) => service === "geo" && allocation.replicas > 2)
        );
      });
      const { inputs } = made.wishes.find(({ service }) => service === "geo")!;
      expect(made.plannedAtMs).toBeLessThan(inputs.windowEndMs + 3_500);
      const recorded = await (await get(running, `/v1/inputs/${inputs.windowHash}`)).json();
      const again = replay(PolicyInputs.parse(recorded));
      expect(JSON.stringify(again.plan.wishes)).toBe(JSON.stringify(decidedWishes(made)));
      const text = await (await get(running, "/metrics")).text();
      expect(text).toMatch(/tradewind_predictor_surge_plans_total [1-9]/);
    } finally {
      for (const stop of loads) stop();
      await running.stop();
      await application.stop();
    }
  });
});

describe("a predictor that restarts", () => {
  it("remembers its wishes, and without data keeps them", async () => {
    const application = await RunningApplication.start();
    application.podUsageCores = 0.45;
    const first = await startPredictor(options(application, { state: application.state }));
    const stopLoad = load(application, first, 250);
    const before = replicasOf(await nextPlan(first, (made) => (replicasOf(made)["geo"] ?? 0) > 2));
    stopLoad();
    await first.stop();

    await application.writeWorkloads("{");
    application.agent.answer((_request, response) => response.destroy());
    const second = await startPredictor(options(application, { state: application.state }));
    const made = await nextPlan(second, () => true);
    expect(made.policy).toBe("hold");
    expect(replicasOf(made)["geo"]).toBeGreaterThanOrEqual(before["geo"]!);
    expect(Object.keys(replicasOf(made))).toEqual(["frontend", "geo"]);
    await second.stop();
    await application.stop();
  });
});

describe("a predictor that takes the place of one whose state is lost", () => {
  it("begins with what its peer remembers", async () => {
    const application = await RunningApplication.start();
    application.podUsageCores = 0.45;
    const ports = [await freePort(), await freePort()];
    const peers = ports.map((port) => `http://127.0.0.1:${port}`);
    const peersSecretFile = secretFile();
    const start = async (port: number): Promise<Running> =>
      startPredictor(
        options(application, { peers, peersListen: `127.0.0.1:${port}`, peersSecretFile, policy: "queue" }),
      );
    const first = await start(ports[0]!);
    const stopLoad = load(application, first, 250);
    const before = replicasOf(await nextPlan(first, (made) => (replicasOf(made)["geo"] ?? 0) > 2));
    stopLoad();
    // Without workloads and CPU use nobody could find out what was decided.
    await application.writeWorkloads("{");
    application.agent.answer((_request, response) => response.destroy());
    const second = await start(ports[1]!);
    const made = await nextPlan(second, () => true);
    expect(replicasOf(made)["geo"]).toBeGreaterThanOrEqual(before["geo"]!);
    expect(Object.keys(replicasOf(made))).toEqual(["frontend", "geo"]);
    await second.stop();
    await first.stop();
    await application.stop();
  });
});

describe("a predictor among broken agents", () => {
  let application: RunningApplication;
  let running: Running;
  const agents: FakeAgent[] = [];
  beforeAll(async () => {
    application = await RunningApplication.start();
    for (let index = 0; index < 3; index += 1) agents.push(await startFakeAgent());
    agents[0]!.answer(() => undefined);
    agents[1]!.answer((_request, response) => response.end("\u0000garbage"));
    agents[2]!.answer((_request, response) =>
      response.end(`{"schema":"tradewind.dev/snapshot/v1","node":${"9".repeat(400)}}`),
    );
    running = await startPredictor(
      options(application, {
        agents: [...agents.map(({ url }) => url), "http://127.0.0.1:1", application.agent.url],
      }),
    );
  });
  afterAll(async () => {
    await running.stop();
    for (const agent of agents) await agent.stop();
    await application.stop();
  });

  it("still plans each window on what the good one says", async () => {
    const made = await nextPlan(running, ({ policy }) => policy === "reactive");
    expect(replicasOf(made)).toEqual({ frontend: 1, geo: 2 });
    const text = await (await get(running, "/metrics")).text();
    expect(text).toMatch(/tradewind_source_failures_total\{.*failure="bad-reply"\} [1-9]/);
    expect(text).toMatch(/tradewind_source_failures_total\{.*failure="timeout"\} [1-9]/);
  });

  it("holds when the good one disappears too, and is back when it is", async () => {
    application.agent.answer((_request, response) => response.destroy());
    const held = await nextPlan(running, ({ policy }) => policy === "hold");
    const next = await nextPlan(running, ({ sequence }) => sequence > held.sequence);
    expect(next.policy).toBe("hold");
    expect(replicasOf(next)).toEqual(replicasOf(held));
    expect(replicasOf(held)["frontend"]).toBeGreaterThanOrEqual(1);
    expect(replicasOf(held)["geo"]).toBeGreaterThanOrEqual(2);
  });
});

describe("starting a predictor", () => {
  it("says that it is not ready, and has no plan, until a whole window has closed", async () => {
    const application = await RunningApplication.start();
    const running = await startPredictor(options(application, { windowSeconds: 3_600 }));
    for (const path of ["/v1/plan", "/v1/windows", "/v1/sensitivities"]) {
      const early = await get(running, path);
      expect(early.status).toBe(503);
      expect(await early.json()).toMatchObject({ error: { code: "no-plan-yet" } });
    }
    expect((await get(running, "/readyz")).status).toBe(503);
    expect((await get(running, "/healthz")).status).toBe(200);
    expect(await (await get(running, "/metrics")).text()).toContain("tradewind_predictor_build_info");
    await running.stop();
    await application.stop();
  });

  it("keeps the platform's numbers under the static policy", async () => {
    const application = await RunningApplication.start();
    const running = await startPredictor(options(application, { policy: "static" }));
    const stopLoad = load(application, running, 900);
    const made = await nextPlan(
      running,
      ({ measuredLatencySeconds }) => measuredLatencySeconds !== undefined,
    );
    expect(made.policy).toBe("static");
    expect(replicasOf(made)).toEqual({ frontend: 1, geo: 2 });
    stopLoad();
    await running.stop();
    await running.stop();
    await application.stop();
  });

  it("takes OTLP over gRPC too when asked to", async () => {
    const application = await RunningApplication.start();
    const running = await startPredictor(options(application, { otlpGrpcListen: "127.0.0.1:0" }));
    expect(running.addresses["grpc"]).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
    await running.stop();
    await application.stop();
  });

  it("fails in words when its address is taken, and leaves nothing behind", async () => {
    const application = await RunningApplication.start();
    const squatter = createServer().listen(0, "127.0.0.1");
    await waitUntil(() => squatter.listening);
    const { port } = squatter.address() as AddressInfo;
    const taken = startPredictor(options(application, { listen: `127.0.0.1:${port}` }));
    await expect(taken).rejects.toThrow(`cannot listen on 127.0.0.1:${port}`);
    const asked = application.agent.requests();
    await new Promise((resolve) => {
      squatter.close(resolve);
    });
    expect(application.agent.requests()).toBe(asked);
    await application.stop();
  });

  it("fails in words when an option is wrong", async () => {
    await expect(startPredictor({ config: "x", listen: "localhost" })).rejects.toThrow(
      "the predictor's options is not valid: listen: must be host:port",
    );
  });
});
