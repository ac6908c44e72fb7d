import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Application } from "@tradewind/core/contract/application.ts";
import type { AskedChange, Plan } from "@tradewind/core/contract/plan.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { changeText } from "@tradewind/core/contract/sentences.ts";
import { emptyIncidents } from "@tradewind/predictor/answers/reason/incident-log.ts";
import { WhatIf } from "@tradewind/predictor/decide/cost/price/what-if.ts";
import { AskedChanges } from "@tradewind/predictor/run/application/asked-changes.ts";
import { Explaining } from "@tradewind/predictor/run/application/explaining.ts";
import type { DecidedWindow } from "@tradewind/predictor/run/application/explaining.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { chain, queueing, service, size } from "../../../predictor/decide/priced.ts";
import { waitUntil } from "../../../wait-until.ts";
import { application, MINUTE_MS, Process, START_MS } from "./scene.ts";

const at = (minutes: number): number => START_MS + minutes * MINUTE_MS;
const APPROVE = { verdict: "approve", by: "ann" } as const;

const asked = (overrides: Partial<AskedChange> = {}): Partial<Plan> => ({
  askedChanges: [
    {
      id: "0123456789",
      service: "search",
      resource: "replicas",
      from: 10,
      to: 13,
      asked: { by: "small-model", tailBeforeSeconds: 0.15, tailAfterSeconds: 0.08 },
      isOfModel: true,
      ...overrides,
    },
  ],
});

async function scene(own: Partial<Application> = {}): Promise<Process> {
  const path = await mkdtemp(join(tmpdir(), "tradewind-asked-"));
  const process = new Process(path);
  process.application = { ...application, ...own };
  onTestFinished(async () => {
    await process.end();
    await rm(path, { recursive: true });
  });
  return process;
}

async function take(process: Process, minutes: number, header: Partial<Plan> = {}): Promise<void> {
  const place = { application: "hotel", namespace: "shop", plannedAtMs: at(minutes) };
  await process.queue.takeAsked({ ...place, ...header });
  await process.plan(10, at(minutes), {}, {}, header);
}

describe("a change that was asked for beside the plan", () => {
  it("waits for a person with what the models expect of it, and is then the least until it expires", async () => {
    const process = await scene();
    await take(process, 0, asked());
    expect(process.replicas).toBe(10);
    const [change] = process.queue.list();
    expect(change).toMatchObject({ state: "awaiting", from: 10, to: 13 });
    expect(changeText(change!)).toBe(
      "replicas 10 → 13, asked for by small-model: the models expect 150 → 80 ms",
    );
    await process.queue.decide(change!.id, APPROVE, at(1));
    await take(process, 2);
    expect(process.replicas).toBe(13);
    await take(process, 3);
    expect(process.queue.list()[0]!.state).toBe("executed");
    expect(process.replicas).toBe(13);
    await take(process, 17);
    expect(process.replicas).toBe(10);
  });

  it("changes nothing where nobody approves it, also where plans wait for nobody", async () => {
    const process = await scene({ approval: undefined });
    await take(process, 0, asked());
    await take(process, 14, asked());
    expect(process.replicas).toBe(10);
    await take(process, 16);
    expect(process.queue.list()).toMatchObject([{ state: "expired" }]);
    await take(process, 17, asked());
    expect(process.queue.list()).toHaveLength(1);
  });

  it("goes by itself where the application lets the model act and it is small, within the bounds", async () => {
    const process = await scene({ approval: undefined, reasoner: "act" });
    await take(process, 0, asked());
    expect(process.replicas).toBe(13);
    expect(process.queue.list()).toMatchObject([{ state: "executed", by: "small-model" }]);
  });

  it.each([
    ["large", { to: 16 }],
    ["of somebody else", { isOfModel: false }],
  ])("waits even where the model may act if it is %s", async (_name, part) => {
    const process = await scene({ reasoner: "act" });
    await take(process, 0, asked(part));
    expect(process.replicas).toBe(10);
    expect(process.queue.list()).toMatchObject([{ state: "awaiting" }]);
  });

  it("never takes anything away", async () => {
    const process = await scene({ reasoner: "act" });
    await take(process, 0, asked({ to: 4 }));
    expect(process.queue.list()).toEqual([]);
    expect(process.replicas).toBe(10);
  });
});

const models = new WhatIf(() =>
  chain([service("search", { base: size(10), own: queueing(0.03, 0.02), requestsPerSecond: 400 })]),
);
const shop = Application.parse({ ...application, entry: "search", objective: { milliseconds: 100 } });

/** `search` answers in so many seconds with so many replicas. */
function decided(number: number, seconds: number, replicas: number): DecidedWindow {
  const latency = {
    count: 100,
    meanSeconds: seconds,
    p50Seconds: seconds,
    p95Seconds: seconds,
    p99Seconds: seconds,
  };
  const times = { startMs: number * 15_000, endMs: (number + 1) * 15_000 };
  const window = {
    namespace: "shop",
    service: "search",
    ...times,
    callees: [],
    containers: [],
    requestsPerSecond: 400,
    replicasReady: replicas,
    errorRatio: 0,
    ownLatency: latency,
    responseLatency: latency,
  };
  const plan: DecidedWindow["outcome"]["plan"] = {
    application: "hotel",
    namespace: "shop",
    plannedAtMs: times.endMs,
    policy: "planner-prior",
    policyReason: "cheapest",
    policyReasons: [],
    wishes: [],
    measuredLatencySeconds: seconds,
    objective: { percentile: 0.95, seconds: 0.1 },
  };
  return {
    application: shop,
    windowSet: { ...times, windows: [window], flows: [] },
    outcome: { plan, slo: { ratio: seconds / 0.1, route: "GET /" }, whatIf: models },
  };
}

describe("a model's answer from the miss to the score", () => {
  it("is confirmed by the models, approved by a person, carried out by the scaler, and scored by what came of it", async () => {
    const process = await scene();
    const changes = new AskedChanges();
    const executed: boolean[] = [];
    const answer = `<think>Too much load.</think>
<Fault>[{"id":"search","type":"C","evidence":[{"signal":"selfTimeP95","value":0.15},{"signal":"responseP95","value":0.15}]}]</Fault>
<Counterfactual>[{"id":"search","resource":"replicas","to":13}]</Counterfactual><root>["search"]</root>`;
    const explaining = new Explaining({
      monotonicMs: () => 0,
      log: createLog("test", "silent"),
      maxKeptBytes: 1e6,
      incidents: { restored: emptyIncidents("hotel", "shop"), keep: () => undefined },
      onExplained: () => undefined,
      model: { model: "small-model", ask: async () => answer },
      onOpinion: ({ counterfactuals, model }) => {
        changes.take(counterfactuals, 0.1, models, { by: model, isOfModel: true, nowMs: at(0) });
      },
      onExecuted: (isAgreed) => executed.push(isAgreed),
    });
    for (let number = 0; number < 12; number += 1) explaining.window(decided(number, 0.05, 10));
    explaining.window(decided(12, 0.15, 10));
    await waitUntil(() => explaining.latest()?.opinion !== undefined);
    expect(explaining.latest()!.opinion!.verdicts).toEqual({ kept: 2 });

    await take(process, 0, { askedChanges: changes.named(at(0)) });
    const [change] = process.queue.list();
    expect(change).toMatchObject({ resource: "replicas", from: 10, to: 13, asked: { by: "small-model" } });
    await process.queue.decide(change!.id, APPROVE, at(1));
    await take(process, 2);
    expect(process.replicas).toBe(13);

    const replicas = process.replicas!;
    for (let number = 13; number < 17; number += 1) explaining.window(decided(number, 0.08, replicas));
    expect(executed).toEqual([true]);
    expect(explaining.accuracy({ application: "hotel", namespace: "shop" })).toMatchObject({
      counterfactuals: { agreed: 1 },
    });
  });
});
