import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { FlowWindow, WindowSet } from "@tradewind/core/contract/window.ts";
import { createLog } from "@tradewind/core/log.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import { readAttention, writeAttention } from "@tradewind/predictor/endtoend/attention-file.ts";
import { attentionLayout } from "@tradewind/predictor/endtoend/attention-model.ts";
import type { AttentionModel } from "@tradewind/predictor/endtoend/attention-model.ts";
import { MOST_FLOWS } from "@tradewind/predictor/learning/flow-learning.ts";
import { Learning } from "@tradewind/predictor/learning/learning.ts";
import { LearningMetrics } from "@tradewind/predictor/learning/metrics.ts";
import type { ModelTrainer } from "@tradewind/predictor/learning/model-trainer.ts";
import { FlowEvidence } from "@tradewind/predictor/policy/evidence.ts";
import type { RetrainSettings } from "@tradewind/predictor/profile/replacement.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { endToEndRow } from "@tradewind/predictor/training/end-to-end-rows.ts";
import type { SeededEndToEndJob } from "@tradewind/predictor/training/messages.ts";
import type { EndToEndOutcome } from "@tradewind/predictor/training/train-end-to-end.ts";
import { Trainer } from "@tradewind/predictor/training/trainer.ts";
import { Registry } from "prom-client";
import { afterEach, describe, expect, it } from "vitest";
import { randomResidual } from "../endtoend/random-residual.ts";
import { application, flow, START_MS, WINDOW_MS } from "../measurements.ts";
import { chained } from "../policy/modelled.ts";

const LOG = createLog("test", "silent");
const NAME = "end-to-end/default/GET /";

/** A window of a frontend and what it calls, under a load that goes up and down; the tail is `factor` times the call graph's. */
function windowAt(at: number, factor = 1.4, services: readonly string[] = ["frontend", "geo"]): WindowSet {
  const modelled = services.map((service, index) => ({
    service,
    replicas: 2,
    cores: 1,
    cpuSecondsPerRequest: 0.01 * (index + 1),
    baseSeconds: 0.02,
    requestsPerSecond: 20 + 12 * (at % 5) + 3 * ((at * 7) % 11),
  }));
  const set = chained(modelled, START_MS + at * WINDOW_MS);
  const [one] = set.flows as [FlowWindow];
  const p95Seconds = factor * endToEndRow(set, one, services, 0.95)!.priorSeconds;
  return {
    ...set,
    flows: [{ ...one, latency: { ...one.latency, p95Seconds, p99Seconds: 1.5 * p95Seconds } }],
  };
}

const windowsFrom = (from: number, to: number, factor?: number, services?: readonly string[]): WindowSet[] =>
  Array.from({ length: to - from }, (_, at) => windowAt(from + at, factor, services));

/** A residual of these services that always says `ln factor`. */
function constantResidual(services: readonly string[], factor: number): AttentionModel {
  const model = randomResidual(services.length, seededRng(1));
  const parameters = new Float64Array(
    attentionLayout({ services: services.length, width: 3, hidden: 5 }).length,
  );
  parameters[parameters.length - 1] = Math.fround(Math.atanh(Math.log(factor) / model.bound));
  return { ...model, services, parameters };
}

/** Answers as it is told, and remembers what it was asked. */
class FakeTrainer implements ModelTrainer {
  readonly jobs: SeededEndToEndJob[] = [];
  private readonly answer: (job: SeededEndToEndJob) => EndToEndOutcome;

  constructor(answer: (job: SeededEndToEndJob) => EndToEndOutcome) {
    this.answer = answer;
  }

  trainResidual(): ReturnType<ModelTrainer["trainResidual"]> {
    return Promise.resolve({ kind: "too-few-rows", rows: 0 });
  }

  trainEndToEnd(job: SeededEndToEndJob): Promise<EndToEndOutcome> {
    this.jobs.push(job);
    return Promise.resolve(this.answer(job));
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

const replacedBy =
  (factor: number) =>
  ({ current, flow: name, nowMs, percentile, rows, services }: SeededEndToEndJob): EndToEndOutcome => ({
    kind: "replaced",
    previousRatio: 0.3,
    model: {
      ...constantResidual(services, factor),
      flow: name,
      percentile,
      version: (current?.version ?? 0) + 1,
      trainedAtMs: nowMs,
      trainingRows: Math.round(0.64 * rows.length),
    },
  });

interface Made {
  readonly learning: Learning;
  readonly store: SqliteStore;
  readonly registry: Registry;
  readonly clock: { nowMs: () => number; at: number; monotonicMs: () => number };
  application: Application;
}

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function make(
  trainer: ModelTrainer,
  {
    flowSettings,
    store = openStore(),
  }: { flowSettings?: Partial<RetrainSettings>; store?: SqliteStore } = {},
): Made {
  const clock = { at: START_MS, nowMs: () => clock.at, monotonicMs: () => clock.at };
  const registry = new Registry();
  const learning = new Learning({
    namespace: "default",
    application: () => made.application,
    windowSeconds: 15,
    youngSeconds: 120,
    log: LOG,
    store,
    trainer,
    metrics: new LearningMetrics(registry),
    clock,
    flowSettings: { restMs: 10 * WINDOW_MS, ...flowSettings },
  });
  ends.push(async () => learning.stop());
  const made: Made = { learning, store, registry, clock, application: application() };
  return made;
}

function openStore(path?: string): SqliteStore {
  const store = new SqliteStore({ path, log: LOG });
  ends.push(async () => store.close());
  return store;
}

/** Lets the predictor see windows one after the other, as it does when it runs. */
async function see({ learning, store, clock }: Made, sets: readonly WindowSet[]): Promise<void> {
  for (const set of sets) {
    clock.at = set.endMs + 5_000;
    store.append(set);
    learning.observe(set);
    await learning.settled();
  }
}

const metric = async ({ registry }: Made, line: RegExp): Promise<number> =>
  Number(line.exec(await registry.metrics())?.[1]);

describe("learning the tail of flows while the predictor runs", () => {
  it("trains once there are enough rows, on the rows of all windows, and uses what comes of it", async () => {
    const trainer = new FakeTrainer(replacedBy(1.4));
    const made = make(trainer);
    await see(made, windowsFrom(0, 93));
    expect(trainer.jobs).toHaveLength(0);
    expect(made.learning.flowEvidence()).toEqual([]);
    await see(made, windowsFrom(93, 95));
    expect(trainer.jobs).toHaveLength(1);
    const [job] = trainer.jobs;
    expect(job).toMatchObject({
      flow: "GET /",
      percentile: 0.95,
      services: ["frontend", "geo"],
      current: undefined,
    });
    expect(job!.rows.map(({ atMs }) => atMs)).toEqual(windowsFrom(0, 94).map(({ endMs }) => endMs));
    for (const { priorSeconds, tailSeconds } of job!.rows)
      expect(tailSeconds).toBeCloseTo(1.4 * priorSeconds, 9);
    const [evidence] = made.learning.flowEvidence();
    expect(FlowEvidence.parse(evidence)).toMatchObject({ flow: "GET /", version: 1 });
    expect(made.learning.models.endToEnd(evidence!.hash)?.services).toEqual(["frontend", "geo"]);
    expect(readAttention(made.learning.modelText(evidence!.hash)!)).toMatchObject({
      flow: "GET /",
      version: 1,
    });
    expect(made.store.model(NAME)).toMatchObject({ hash: evidence!.hash, metadata: { version: 1 } });
  });

  it("watches the residual next to the call graph alone, and says so in bounded metrics", async () => {
    const made = make(new FakeTrainer(replacedBy(1.3)));
    await see(made, windowsFrom(0, 94));
    await see(made, windowsFrom(94, 104));
    const [{ errors, graphErrors }] = made.learning.flowEvidence() as [FlowEvidence];
    expect([errors!.windows, graphErrors!.windows]).toEqual([10, 10]);
    expect(errors!.meanAbsoluteRatio).toBeLessThan(graphErrors!.meanAbsoluteRatio);
    const labels = 'namespace="default",flow="GET /"';
    const ratio = (residual: string): Promise<number> =>
      metric(made, new RegExp(`end_to_end_error_ratio\\{${labels},residual="${residual}"\\} (\\S+)`));
    expect(await ratio("with")).toBeCloseTo(errors!.meanAbsoluteRatio, 12);
    expect(await ratio("without")).toBeGreaterThan(await ratio("with"));
    expect(await metric(made, new RegExp(`end_to_end_rows\\{${labels}\\} (\\S+)`))).toBe(104);
    expect(await metric(made, new RegExp(`end_to_end_model_age_seconds\\{${labels}\\} (\\S+)`))).toBe(145);
    expect(await metric(made, /end_to_end_trainings_total\{result="replaced"\} (\d+)/)).toBe(1);
  });

  it("trains again when its errors have grown, and after half as many new rows as it was trained on", async () => {
    const trainer = new FakeTrainer(replacedBy(1.4));
    const made = make(trainer);
    await see(made, windowsFrom(0, 94));
    await see(made, windowsFrom(94, 123));
    expect(trainer.jobs).toHaveLength(1);
    await see(made, windowsFrom(123, 125));
    expect(trainer.jobs.map(({ current }) => current?.version)).toEqual([undefined, 1]);
    await see(made, windowsFrom(125, 140, 3));
    expect(trainer.jobs.map(({ current }) => current?.version)).toEqual([undefined, 1, 2]);
  });

  it("keeps what is in use when training comes to nothing better, and does not try again at once", async () => {
    const trainer = new FakeTrainer(() => ({ kind: "kept", candidateRatio: 0.3, currentRatio: 0.2 }));
    const made = make(trainer);
    await see(made, windowsFrom(0, 116));
    expect(trainer.jobs).toHaveLength(1);
    expect(made.learning.flowEvidence()).toEqual([]);
    await see(made, windowsFrom(116, 119));
    expect(trainer.jobs).toHaveLength(2);
  });

  it("goes on with the call graph when training fails, counts it and tries again after a rest", async () => {
    const trainer = new FakeTrainer((job) => {
      if (job.rows.length > 100) throw new Error("the trainer broke");
      return { kind: "failed", why: "no TensorFlow here" };
    });
    const made = make(trainer);
    await see(made, windowsFrom(0, 106));
    expect(trainer.jobs).toHaveLength(2);
    expect(made.learning.flowEvidence()).toEqual([]);
    expect(await metric(made, /end_to_end_trainings_total\{result="failed"\} (\d+)/)).toBe(2);
    expect(await metric(made, /training_failures_total (\d+)/)).toBe(2);
  });

  it("goes on when a service leaves the flow and another one comes", async () => {
    const trainer = new FakeTrainer(replacedBy(1.4));
    const made = make(trainer);
    await see(made, windowsFrom(0, 94, 1.4, ["frontend", "geo"]));
    await see(made, windowsFrom(94, 126, 1.4, ["frontend", "rate"]));
    expect(trainer.jobs.at(-1)!.services).toEqual(["frontend", "geo", "rate"]);
    const [last] = trainer.jobs.at(-1)!.rows.slice(-1);
    expect(last!.ownTails[1]).toBeNaN();
    expect(last!.ownTails[2]).toBeGreaterThan(0);
    const [evidence] = made.learning.flowEvidence();
    expect(evidence!.errors!.meanAbsoluteRatio).toBeLessThan(0.05);
  });

  it("learns only flows that users start, with calls enough, and of other namespaces nothing", async () => {
    const trainer = new FakeTrainer(replacedBy(1.4));
    const made = make(trainer);
    const others = windowsFrom(0, 100).map((set) => ({
      ...set,
      windows: set.windows.map((window) => Object.assign({ ...window }, { namespace: "else" })),
      flows: [
        ...set.flows,
        flow(["geo"], 0.1, { flow: "GET /geo", entryService: "geo" }),
        flow(["frontend"], 0.1, { flow: "GET /rare", latency: { ...set.flows[0]!.latency, count: 3 } }),
      ],
    }));
    await see(made, others);
    expect(trainer.jobs).toHaveLength(0);
    expect(await made.registry.metrics()).not.toMatch(/end_to_end_rows\{[^}]*flow="GET \/(geo|rare)"/);
  });

  it("keeps a bounded number of flows, the busiest of the first window, until one has been away for a while", async () => {
    const made = make(new FakeTrainer(replacedBy(1.4)));
    const named = (set: WindowSet, count: number, prefix: string): WindowSet => ({
      ...set,
      flows: Array.from({ length: count }, (_, at) => {
        const [one] = set.flows as [WindowSet["flows"][number]];
        return { ...one, flow: `${prefix}${at}`, latency: { ...one.latency, count: 20 + at } };
      }),
    });
    const flows = async (): Promise<string[]> =>
      [...(await made.registry.metrics()).matchAll(/end_to_end_rows\{[^}]*flow="([^"]*)"/g)].map(
        ([, name]) => name!,
      );
    await see(made, [named(windowAt(0), MOST_FLOWS + 5, "a")]);
    expect(await flows()).toHaveLength(MOST_FLOWS);
    expect(await flows()).toContain(`a${MOST_FLOWS + 4}`);
    await see(made, [named(windowAt(1), 3, "b")]);
    expect(await flows()).not.toContain("b0");
    await see(made, [named(windowAt(50), 3, "b")]);
    expect(await flows()).toHaveLength(MOST_FLOWS);
    expect(await flows()).toContain("b2");
    await see(made, [named(windowAt(400), 1, "c")]);
    expect(await flows()).toEqual(["c0"]);
  });

  it("starts anew when the application is judged by another percentile", async () => {
    const trainer = new FakeTrainer(replacedBy(1.4));
    const made = make(trainer);
    await see(made, windowsFrom(0, 95));
    expect(made.learning.flowEvidence()).toHaveLength(1);
    made.application = application({ objective: { milliseconds: 200, percentile: 0.99 } });
    await see(made, windowsFrom(95, 96));
    expect(made.learning.flowEvidence()).toEqual([]);
    expect(await metric(made, /end_to_end_rows\{[^}]*\} (\d+)/)).toBe(1);
  });
});

describe("what was learnt of flows, after a restart", () => {
  it("is there again from the store's file: the model, and the rows of windows as measured", async () => {
    const directory = await mkdtemp(join(tmpdir(), "tradewind-flows-"));
    ends.push(async () => rm(directory, { recursive: true, force: true }));
    const path = join(directory, "history.sqlite");
    const before = openStore(path);
    const first = make(new FakeTrainer(replacedBy(1.4)), { store: before });
    await see(first, windowsFrom(0, 110));
    const [{ hash }] = first.learning.flowEvidence() as [FlowEvidence];
    const summedUp = windowAt(-30);
    before.append({ ...summedUp, endMs: summedUp.startMs + 300_000, windows: [] });
    await before.close();

    const trainer = new FakeTrainer(replacedBy(1.4));
    const second = make(trainer, { store: openStore(path) });
    second.clock.at = windowAt(110).startMs;
    second.learning.recall();
    await second.learning.settled();
    await see(second, windowsFrom(110, 111));
    expect(second.learning.flowEvidence()).toMatchObject([{ flow: "GET /", hash, errors: { windows: 1 } }]);
    expect(await metric(second, /end_to_end_rows\{[^}]*\} (\d+)/)).toBe(111);
    await see(second, windowsFrom(111, 125));
    expect(trainer.jobs.map(({ current, rows }) => [current?.version, rows.length])).toEqual([[1, 124]]);
  });

  it.each<{ what: string; body: (whole: string) => string; name?: string }>([
    { what: "is cut short", body: (whole) => whole.slice(0, 300) },
    { what: "has a changed digit", body: (whole) => whole.replace('"version":1', '"version":2') },
    {
      what: "is of another flow",
      body: () => writeAttention({ ...constantResidual(["a"], 2), flow: "GET /b" }),
    },
    { what: "is something else altogether", body: () => "GIF89a" },
  ])("goes on with the call graph when the stored model $what", async ({ body }) => {
    const store = openStore();
    const whole = writeAttention(constantResidual(["frontend", "geo"], 2));
    const hash = "00000000000000aa";
    store.saveModel({ name: NAME, hash, createdAtMs: 1, body: Buffer.from(body(whole)), metadata: {} });
    const made = make(new FakeTrainer(replacedBy(1.4)), { store });
    await see(made, windowsFrom(0, 10));
    expect(made.learning.flowEvidence()).toEqual([]);
    expect(made.learning.models.endToEnd(hash)).toBeUndefined();
    expect(await metric(made, /models_unusable_total (\d+)/)).toBe(1);
    expect(await metric(made, /end_to_end_rows\{[^}]*\} (\d+)/)).toBe(10);
  });
});

describe("learning the tail of flows with TensorFlow", () => {
  it("trains in the worker thread and predicts better with what it learnt than the call graph alone", async () => {
    const trainer = new Trainer({ timeoutMs: 120_000 });
    const made = make({
      trainResidual: (job) => trainer.trainResidual(job),
      trainEndToEnd: (job) => trainer.trainEndToEnd({ ...job, settings: { maxSteps: 150, starts: 1 } }),
      stop: () => trainer.stop(),
    });
    await see(made, windowsFrom(0, 120));
    const [evidence] = made.learning.flowEvidence();
    const { errors, graphErrors } = evidence!;
    expect(graphErrors!.meanAbsoluteRatio).toBeGreaterThan(0.2);
    expect(errors!.meanAbsoluteRatio).toBeLessThan(0.5 * graphErrors!.meanAbsoluteRatio);
  }, 120_000);
});
