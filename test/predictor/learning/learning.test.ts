import type { Clock } from "@tradewind/core/clock.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { createLog } from "@tradewind/core/log.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import { Learning } from "@tradewind/predictor/learning/learning.ts";
import type { LearningSettings } from "@tradewind/predictor/learning/learning.ts";
import { LearningMetrics } from "@tradewind/predictor/learning/metrics.ts";
import type { ModelTrainer } from "@tradewind/predictor/learning/model-trainer.ts";
import { readModel } from "@tradewind/predictor/profile/model-file.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import type { TrainingJob, TrainingOutcome } from "@tradewind/predictor/training/train-service.ts";
import { Trainer } from "@tradewind/predictor/training/trainer.ts";
import { Registry } from "prom-client";
import { afterEach, describe, expect, it } from "vitest";
import { randomModel } from "../profile/random-model.ts";
import { simulatedWindows } from "../training/processor-sharing.ts";

const LOG = createLog("test", "silent");
const WINDOWS = simulatedWindows([0.5, 1], 160, seededRng(1));
const END_MS = WINDOWS.at(-1)!.endMs;

/** Answers as it is told, and remembers what it was asked. */
class FakeTrainer implements ModelTrainer {
  readonly jobs: TrainingJob[] = [];
  private readonly answer: (job: TrainingJob) => TrainingOutcome;

  constructor(answer: (job: TrainingJob) => TrainingOutcome) {
    this.answer = answer;
  }

  train(job: TrainingJob): Promise<TrainingOutcome> {
    this.jobs.push(job);
    return Promise.resolve(this.answer(job));
  }

  trainEndToEnd(): Promise<never> {
    return Promise.reject(new Error("there are no flows here"));
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

const replaced = ({ service, current, nowMs }: TrainingJob): TrainingOutcome => ({
  kind: "replaced",
  previousRatio: 0.3,
  model: {
    ...randomModel(seededRng(5)),
    service,
    version: (current?.version ?? 0) + 1,
    trainedAtMs: nowMs,
    trainingRows: 80,
  },
});

interface Made {
  readonly learning: Learning;
  readonly store: SqliteStore;
  readonly registry: Registry;
  readonly clock: { nowMs: () => number; at: number; monotonicMs: () => number };
}

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function make(trainer: ModelTrainer, settings: Partial<LearningSettings> = {}, store = emptyStore()): Made {
  const clock = { at: WINDOWS[0]!.startMs, nowMs: () => clock.at, monotonicMs: () => clock.at };
  const registry = new Registry();
  const metrics = new LearningMetrics(registry);
  const application = (): undefined => undefined;
  const parts = {
    namespace: "shop",
    application,
    windowSeconds: 15,
    log: LOG,
    settings,
    store,
    trainer,
    metrics,
  };
  const learning = new Learning({ ...parts, clock: clock satisfies Clock });
  ends.push(async () => learning.stop());
  return { learning, store, registry, clock };
}

function emptyStore(): SqliteStore {
  const store = new SqliteStore({ path: undefined, log: LOG });
  ends.push(async () => store.close());
  return store;
}

/** Lets the predictor see windows one after the other, as it does when it runs. */
async function see({ learning, store, clock }: Made, windows: readonly Window[]): Promise<void> {
  for (const window of windows) {
    clock.at = window.endMs + 5_000;
    const set = { startMs: window.startMs, endMs: window.endMs, windows: [window], flows: [] };
    store.append(set);
    learning.observe(set);
    await learning.settled();
  }
}

const metric = async (registry: Registry, line: RegExp): Promise<number> =>
  Number(line.exec(await registry.metrics())?.[1]);

describe("learning while the predictor runs", () => {
  it("trains when there are enough windows under different loads, rests in between, and uses what comes of it", async () => {
    const trainer = new FakeTrainer(replaced);
    const made = make(trainer, { restMs: 20 * 15_000 });
    await see(made, WINDOWS.slice(0, 79));
    expect(trainer.jobs).toHaveLength(0);
    await see(made, WINDOWS.slice(79, 81));
    expect(trainer.jobs).toHaveLength(1);
    expect(trainer.jobs[0]).toMatchObject({ service: "cart", current: undefined, percentile: 0.95 });
    expect(trainer.jobs[0]!.windows.map(({ observation }) => observation.atMs)).toEqual(
      WINDOWS.slice(0, 80).map(({ endMs }) => endMs),
    );
    const [evidence] = made.learning.evidence();
    expect(evidence!.trained).toMatchObject({ version: 1 });
    const profile = made.learning.models.profile(evidence!.trained!.hash);
    expect(profile?.model.service).toBe("cart");
    await see(made, WINDOWS.slice(81, 99));
    expect(trainer.jobs).toHaveLength(1);
  });

  it("trains again, from the model in use, when its errors have grown", async () => {
    const trainer = new FakeTrainer(replaced);
    const made = make(trainer, { restMs: 10 * 15_000 });
    await see(made, WINDOWS.slice(0, 95));
    expect(trainer.jobs.map(({ current }) => current?.version)).toEqual([undefined, 1]);
    expect(made.learning.evidence()[0]!.trained).toMatchObject({ version: 2 });
    expect(await metric(made.registry, /profile_version\{[^}]*service="cart"\} (\d+)/)).toBe(2);
    expect(await metric(made.registry, /profile_maturity\{[^}]*service="cart"\} (\d+)/)).toBe(2);
    expect(await metric(made.registry, /trainings_total\{result="replaced"\} (\d+)/)).toBe(2);
  });

  it("does not train on one load alone", async () => {
    const trainer = new FakeTrainer(replaced);
    const same = WINDOWS.map((window) => ({ ...window, requestsPerSecond: 80 }));
    for (const window of same) for (const container of window.containers) container.cpuLimitCores = 1;
    await see(make(trainer), same.slice(0, 120));
    expect(trainer.jobs).toHaveLength(0);
  });

  it("goes on with the prior when training fails, counts it and tries again later", async () => {
    const trainer = new FakeTrainer(() => ({ kind: "failed", why: "no TensorFlow here" }));
    const made = make(trainer, { restMs: 10 * 15_000 });
    await see(made, WINDOWS.slice(0, 105));
    expect(trainer.jobs.length).toBeGreaterThanOrEqual(2);
    expect(made.learning.evidence()[0]).toMatchObject({ service: "cart" });
    expect(made.learning.evidence()[0]!.trained).toBeUndefined();
    expect(made.learning.evidence()[0]!.prior!.errors!.windows).toBe(24);
    expect(await metric(made.registry, /training_failures_total (\d+)/)).toBe(trainer.jobs.length);
    expect(await metric(made.registry, /profile_maturity\{[^}]*service="cart"\} (\d+)/)).toBe(1);
  });

  it("keeps what is in use when the new one is no better", async () => {
    const trainer = new FakeTrainer(() => ({ kind: "kept", candidateRatio: 0.3, currentRatio: 0.2 }));
    const made = make(trainer);
    await see(made, WINDOWS.slice(0, 90));
    expect(made.learning.evidence()[0]!.trained).toBeUndefined();
    expect(await metric(made.registry, /trainings_total\{result="kept"\} (\d+)/)).toBe(1);
  });

  it("does not train over and over on windows that came to nothing better: there must be a quarter more", async () => {
    const trainer = new FakeTrainer(() => ({ kind: "kept", candidateRatio: 0.3, currentRatio: 0.2 }));
    const made = make(trainer, { restMs: 15_000 });
    await see(made, WINDOWS.slice(0, 99));
    expect(trainer.jobs).toHaveLength(1);
    await see(made, WINDOWS.slice(99, 124));
    expect(trainer.jobs.map(({ windows }) => windows.length)).toEqual([80, 100]);
  });

  it("does not throw when a trainer does, nor when a model it hands over is broken", async () => {
    const throwing = make(
      new FakeTrainer(() => {
        throw new Error("the trainer broke");
      }),
    );
    await see(throwing, WINDOWS.slice(0, 85));
    expect(throwing.learning.evidence()).toHaveLength(1);
    const broken = make(
      new FakeTrainer((job) => {
        const outcome = replaced(job);
        if (outcome.kind === "replaced") outcome.model.members[0]!.fill(Number.NaN);
        return outcome;
      }),
    );
    await see(broken, WINDOWS.slice(0, 85));
    expect(broken.learning.evidence()[0]!.trained).toBeUndefined();
    expect(await metric(broken.registry, /models_unusable_total (\d+)/)).toBe(1);
  });

  it("finds its models and its windows again after a restart", async () => {
    const first = make(new FakeTrainer(replaced));
    await see(first, WINDOWS.slice(0, 100));
    const { hash } = first.learning.evidence()[0]!.trained!;
    const trainer = new FakeTrainer(replaced);
    const second = make(trainer, { restMs: 3_600_000 }, first.store);
    second.clock.at = WINDOWS[99]!.endMs + 6_000;
    second.learning.recall();
    await second.learning.settled();
    await see(second, WINDOWS.slice(100, 101));
    const [evidence] = second.learning.evidence();
    expect(evidence!.trained).toMatchObject({ hash });
    expect(evidence!.prior!.state.cpuSecondsPerRequest).toBeCloseTo(0.008, 4);
    expect(await metric(second.registry, /profile_rows\{[^}]*service="cart"\} (\d+)/)).toBe(101);
  });

  it("gives back the file of a model that another has replaced", async () => {
    const made = make(new FakeTrainer(replaced), { restMs: 10 * 15_000 });
    await see(made, WINDOWS.slice(0, 81));
    const { hash } = made.learning.evidence()[0]!.trained!;
    await see(made, WINDOWS.slice(81, 95));
    expect(made.learning.evidence()[0]!.trained!.hash).not.toBe(hash);
    expect(readModel(made.learning.modelText(hash)!)).toMatchObject({ version: 1, service: "cart" });
    expect(made.learning.modelText("ffffffffffffffff")).toBeUndefined();
    const other = make(new FakeTrainer(replaced), {}, made.store);
    expect(other.learning.models.profile(hash)?.model.version).toBe(1);
  });

  it.each<{ what: string; text: (whole: string) => string }>([
    { what: "is cut short", text: (whole) => whole.slice(0, 500) },
    { what: "has a changed digit", text: (whole) => whole.replace('"trainingRows":80', '"trainingRows":81') },
    { what: "is of another service", text: (whole) => whole },
    { what: "is something else altogether", text: () => "GIF89a" },
  ])("goes on with the prior when the stored model $what", async ({ text }) => {
    const first = make(new FakeTrainer(replaced));
    await see(first, WINDOWS.slice(0, 82));
    const store = emptyStore();
    const whole = first.learning.modelText(first.learning.evidence()[0]!.trained!.hash)!;
    store.saveModel({
      name: text(whole) === whole ? "profile/shop/geo" : "profile/shop/cart",
      hash: "00000000000000aa",
      createdAtMs: 1,
      body: Buffer.from(text(whole)),
      metadata: {},
    });
    const service = text(whole) === whole ? "geo" : "cart";
    const made = make(new FakeTrainer(replaced), { restMs: 3_600_000 }, store);
    await see(
      made,
      WINDOWS.slice(0, 10).map((window) => Object.assign({ ...window }, { service })),
    );
    expect(made.learning.evidence()[0]!.trained).toBeUndefined();
    expect(made.learning.evidence()[0]!.prior).toBeDefined();
    expect(made.learning.models.profile("00000000000000aa")).toBeUndefined();
    expect(await metric(made.registry, /models_unusable_total (\d+)/)).toBe(1);
  });

  it("leaves out other namespaces, and services without containers", async () => {
    const made = make(new FakeTrainer(replaced));
    const elsewhere = WINDOWS.slice(0, 5).map((window) =>
      Object.assign({ ...window }, { namespace: "else" }),
    );
    await see(made, elsewhere);
    await see(
      made,
      WINDOWS.slice(5, 10).map((window) => Object.assign({ ...window }, { containers: [] })),
    );
    expect(made.learning.evidence()).toEqual([]);
  });

  it("forgets a service an hour after it was last seen", async () => {
    const made = make(new FakeTrainer(replaced));
    await see(made, WINDOWS.slice(0, 10));
    const endMs = END_MS + 2 * 3_600_000;
    made.learning.observe({ startMs: endMs - 15_000, endMs, windows: [], flows: [] });
    expect(made.learning.evidence()).toEqual([]);
  });
});

describe("learning with TensorFlow", () => {
  it("trains in a worker thread while the event loop goes on, and decides with what it learnt", async () => {
    const trainer = new Trainer({ timeoutMs: 120_000 });
    const quick: ModelTrainer = {
      train: (job) => trainer.train({ ...job, settings: { members: 1, spareMembers: 0, maxEpochs: 60 } }),
      trainEndToEnd: (job) => trainer.trainEndToEnd(job),
      stop: () => trainer.stop(),
    };
    const made = make(quick, { firstRows: WINDOWS.length });
    await see(made, WINDOWS.slice(0, -1));
    const [last] = WINDOWS.slice(-1);
    made.clock.at = END_MS + 5_000;
    const set = { startMs: last!.startMs, endMs: last!.endMs, windows: [last!], flows: [] };
    made.store.append(set);
    let turns = 0;
    const ticking = setInterval(() => {
      turns += 1;
    }, 5);
    made.learning.observe(set);
    await made.learning.settled();
    clearInterval(ticking);
    expect(turns).toBeGreaterThan(10);
    expect(await metric(made.registry, /training_failures_total (\d+)/)).toBe(0);
    expect(
      (await metric(made.registry, /trainings_total\{result="replaced"\} (\d+)/)) ||
        (await metric(made.registry, /trainings_total\{result="kept"\} (\d+)/)),
    ).toBe(1);
  }, 120_000);
});
