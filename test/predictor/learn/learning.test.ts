import { setImmediate } from "node:timers/promises";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { Learning } from "@tradewind/predictor/learn/learning.ts";
import { LearningMetrics } from "@tradewind/predictor/learn/metrics.ts";
import type { ModelTrainer } from "@tradewind/predictor/learn/model-trainer.ts";
import type { ProfileObservation } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { readResidual } from "@tradewind/predictor/models/residual/residual-model.ts";
import { trainResidual } from "@tradewind/predictor/models/residual/train-residual.ts";
import type { ResidualJob, ResidualOutcome } from "@tradewind/predictor/models/residual/train-residual.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import type { PolicyInputs, PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import { replay } from "@tradewind/predictor/decide/replay.ts";
import { PolicySettings } from "@tradewind/predictor/decide/facts/settings.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { Registry } from "prom-client";
import { afterEach, describe, expect, it } from "vitest";
import { application, flow, inputs, START_MS, WINDOW_MS, windowSet } from "../measurements.ts";
import { memoryAt, pressedWindows } from "../models/residual/pressed-service.ts";

const LOG = createLog("test", "silent");
const MEMORY_BYTES = 5e8;
const COUNT = 110;
const SHOP = application({ objective: { milliseconds: 50 }, resize: "limits" });

/** Stated, so that the test does not depend on how the default is tuned. */
const SETTINGS = PolicySettings.parse({ cost: { worth: 1 } });

/** What the predictor measures of a shop of one service whose memory slows it down. */
const setOf = (
  { calls, cpuUsageCores, loadPerContainer = 0, ...times }: ProfileObservation,
  at: number,
): WindowSet => {
  const startMs = START_MS + at * WINDOW_MS;
  const { meanSeconds = 0, p50Seconds = 0, p95Seconds = 0, p99Seconds = 0 } = times;
  const latency = { count: calls ?? 1, meanSeconds, p50Seconds, p95Seconds, p99Seconds };
  const replicas = 2;
  return windowSet(
    [
      {
        namespace: "default",
        service: "frontend",
        startMs,
        endMs: startMs + WINDOW_MS,
        replicasReady: replicas,
        replicasWanted: replicas,
        revision: "a",
        newestRevisionShare: 1,
        requestsPerSecond: replicas * loadPerContainer,
        ownLatency: latency,
        callees: [],
        containers: Array.from({ length: replicas }, (_, pod) => ({
          id: `frontend-${pod}-main`,
          podName: `frontend-${pod}`,
          cpuLimitCores: 1,
          cpuUsageCores,
          memoryLimitBytes: MEMORY_BYTES,
          memoryWorkingSetBytes: memoryAt(at) * MEMORY_BYTES,
        })),
      },
    ],
    [flow(["frontend"], p95Seconds, { latency, requestsPerSecond: replicas * loadPerContainer })],
  );
};
const SETS = pressedWindows(COUNT, (memory) => 1 + 8 * Math.max(0, memory - 0.7), 65).map(
  ({ observation }, at) => setOf(observation, at),
);

class TrainerHere implements ModelTrainer {
  readonly jobs: ResidualJob[] = [];
  readonly trained: ResidualJob[] = [];
  private readonly answer: (job: ResidualJob) => ResidualOutcome;

  constructor(answer = (job: ResidualJob): ResidualOutcome => trainResidual(job, seededRng(job.seed))) {
    this.answer = answer;
  }

  trainResidual(job: ResidualJob): Promise<ResidualOutcome> {
    this.jobs.push(job);
    const outcome = this.answer(job);
    if (outcome.kind === "trained") this.trained.push(job);
    return Promise.resolve(outcome);
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

interface Made {
  readonly learning: Learning;
  readonly store: SqliteStore;
  readonly registry: Registry;
  /** `behindMs`: how far the wall clock was set back. */
  readonly clock: { nowMs: () => number; at: number; behindMs: number; monotonicMs: () => number };
  readonly current: { shop: typeof SHOP };
}

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function make(trainer: ModelTrainer, store = emptyStore()): Made {
  const current = { shop: SHOP };
  const clock = {
    at: START_MS,
    behindMs: 0,
    nowMs: () => clock.at - clock.behindMs,
    monotonicMs: () => clock.at,
  };
  const registry = new Registry();
  const learning = new Learning({
    namespace: "default",
    application: () => current.shop,
    windowSeconds: 15,
    youngSeconds: 120,
    log: LOG,
    store,
    trainer,
    metrics: new LearningMetrics(registry),
    clock: clock satisfies Clock,
  });
  ends.push(async () => learning.stop());
  return { learning, store, registry, clock, current };
}

function emptyStore(): SqliteStore {
  const store = new SqliteStore({ path: undefined, log: LOG });
  ends.push(async () => store.close());
  return store;
}

interface Decided {
  readonly inputs: PolicyInputs;
  readonly outcome: PolicyOutcome;
}

/** Learns from windows and decides on them, one after the other, as the predictor does. */
async function see(
  { clock, learning, store }: Made,
  sets: readonly WindowSet[],
  state?: PolicyInputs["state"],
): Promise<Decided[]> {
  const decided: Decided[] = [];
  let last = state;
  for (const set of sets) {
    clock.at = set.endMs + 5_000;
    store.append(set);
    learning.observe(set, last?.cost?.services);
    await learning.settled();
    const profiles = learning.evidence();
    const taken = inputs(set, {
      application: SHOP,
      settings: SETTINGS,
      profiles,
      ...(last && { state: last }),
    });
    const outcome = decide(taken, learning.models);
    decided.push({ inputs: taken, outcome });
    last = outcome.state;
  }
  return decided;
}

const residualsOf = ({ learning }: Made) => learning.evidence().flatMap(({ residual }) => residual ?? []);

const metric = async (registry: Registry, line: RegExp): Promise<number> =>
  Number(line.exec(await registry.metrics())?.[1]);

/** Cores of all containers together. */
const coresOf = ({ plan }: PolicyOutcome): number => {
  const { cpuCores = 1, replicas } = plan.wishes[0]!.allocation;
  return replicas * cpuCores;
};

describe("learning what a queue cannot know while the predictor runs", () => {
  it("has a residual of a service that its memory slows down in use within 80 windows, and decides otherwise for it", async () => {
    const made = make(new TrainerHere());
    const decided = await see(made, SETS);
    const since = decided.findIndex(({ inputs: { profiles = [] } }) =>
      profiles.some(({ residual }) => residual !== undefined),
    );
    expect(since).toBeGreaterThan(40);
    expect(since).toBeLessThan(80);
    expect(decided[since - 1]!.outcome.plan.policy).toBe("planner-prior");
    expect(decided[since]!.outcome.plan.policy).toBe("planner");
    expect(await metric(made.registry, /profile_maturity\{[^}]*service="frontend"\} (\d+)/)).toBe(2);
    const untrained = await see(make(new TrainerHere(() => ({ kind: "too-few-rows", rows: 0 }))), SETS);
    const cores = (of: readonly Decided[]): number[] => of.map(({ outcome }) => coresOf(outcome));
    expect(cores(decided).slice(0, since)).toEqual(cores(untrained).slice(0, since));
    const coresSince = (of: readonly Decided[]): number =>
      cores(of)
        .slice(since)
        .reduce((sum, each) => sum + each, 0);
    expect(coresSince(decided)).toBeGreaterThan(coresSince(untrained));
  });

  it("gives a decision that a replay repeats from its inputs and the models that they name", async () => {
    const made = make(new TrainerHere());
    const { inputs: taken, outcome } = (await see(made, SETS.slice(0, 90))).at(-1)!;
    const hash = taken.profiles?.[0]?.residual?.hash ?? "";
    const recorded: unknown = JSON.parse(JSON.stringify(taken));
    expect(replay(recorded, make(new TrainerHere(), made.store).learning.models).plan).toEqual(outcome.plan);
    expect(() => replay(recorded)).toThrow(/is not there/);
    expect(readResidual(made.learning.modelText(hash)!)).toMatchObject({ service: "frontend" });
    expect(made.learning.modelText("ffffffffffffffff")).toBeUndefined();
  });

  it("trains with a quarter more windows each time, not before five minutes are over", async () => {
    const trainer = new TrainerHere();
    await see(make(trainer), SETS);
    const { trained } = trainer;
    expect(trained.length).toBeGreaterThan(2);
    for (const [at, { nowMs, windows }] of trained.slice(1).entries()) {
      expect(nowMs - trained[at]!.nowMs).toBeGreaterThanOrEqual(5 * 60_000);
      expect(windows.length).toBeGreaterThan(1.2 * trained[at]!.windows.length);
    }
  });

  it("learns at once from windows that were stored before it started", async () => {
    const { store } = make(new TrainerHere());
    for (const set of SETS.slice(0, 100)) store.append(set);
    const made = make(new TrainerHere(), store);
    await see(made, SETS.slice(100, 101));
    expect(made.learning.evidence()).toMatchObject([{ service: "frontend", residual: { version: 1 } }]);
  });

  it("drops what it learnt at a deploy, and learns the new program from its own windows", async () => {
    const trainer = new TrainerHere();
    const made = make(trainer);
    const deployed = SETS.map((set, at) =>
      at < 80 ? set : { ...set, windows: set.windows.map((each) => ({ ...each, revision: "b" })) },
    );
    const before = await see(made, deployed.slice(0, 80));
    expect(residualsOf(made)).toHaveLength(1);
    await see(made, deployed.slice(80), before.at(-1)!.outcome.state);
    expect(residualsOf(made)).toHaveLength(0);
    const { observation } = trainer.jobs.at(-1)!.windows.find((each) => each.observation.isAfterDeploy)!;
    expect(observation.atMs).toBe(SETS[80]!.endMs);
  });

  it("begins again where the objective has another percentile, of which what was learnt says nothing", async () => {
    const made = make(new TrainerHere());
    const before = await see(made, SETS.slice(0, 80));
    expect(residualsOf(made)).toHaveLength(1);
    made.current.shop = application({ objective: { milliseconds: 50, percentile: 0.99 }, resize: "limits" });
    await see(made, SETS.slice(80, 81), before.at(-1)!.outcome.state);
    expect(residualsOf(made)).toHaveLength(0);
  });

  it("drops a training that ends when the objective has another percentile already", async () => {
    const trainer = new TrainerHere();
    const made = make(trainer);
    const before = await see(made, SETS.slice(0, 30));
    expect(residualsOf(made)).toHaveLength(0);
    const begun = Promise.withResolvers<number>();
    const ended = Promise.withResolvers<void>();
    const train = trainer.trainResidual.bind(trainer);
    trainer.trainResidual = async (job) => {
      // Those before have too few rows.
      const outcome = await train(job);
      if (outcome.kind !== "trained") return outcome;
      begun.resolve(job.percentile);
      await ended.promise;
      return outcome;
    };
    const watch = async (set: WindowSet): Promise<void> => {
      made.clock.at = set.endMs + 5_000;
      made.store.append(set);
      made.learning.observe(set, before.at(-1)!.outcome.state.cost?.services);
      await setImmediate();
    };
    for (const set of SETS.slice(30, 80)) await watch(set);
    expect(await begun.promise).toBe(0.95);
    made.current.shop = application({ objective: { milliseconds: 50, percentile: 0.99 }, resize: "limits" });
    await watch(SETS[80]!);
    ended.resolve();
    await made.learning.settled();
    expect(residualsOf(made)).toHaveLength(0);
  });

  it("goes on training where the wall clock is set back by a day", async () => {
    const trainer = new TrainerHere();
    const made = make(trainer);
    const before = await see(made, SETS.slice(0, 60));
    const tried = trainer.jobs.length;
    made.clock.behindMs = 86_400_000;
    await see(made, SETS.slice(60), before.at(-1)!.outcome.state);
    expect(trainer.jobs.length).toBeGreaterThan(tried);
  });

  it("goes on with the tracked profile when training fails, throws or makes what is no model", async () => {
    const answers: ((job: ResidualJob) => ResidualOutcome)[] = [
      () => ({ kind: "failed", why: "no time" }),
      () => {
        throw new Error("the trainer broke");
      },
      (job) => {
        const outcome = trainResidual(job, seededRng(1));
        if (outcome.kind === "trained") outcome.model.parameters.fill(Number.NaN);
        return outcome;
      },
    ];
    const sums = { failed: 0, unusable: 0 };
    for (const answer of answers) {
      const made = make(new TrainerHere(answer));
      const decided = await see(made, SETS.slice(0, 60));
      expect(decided.at(-1)!.outcome.plan.policy).toBe("planner-prior");
      sums.failed += await metric(made.registry, /training_failures_total (\d+)/);
      sums.unusable += await metric(made.registry, /models_unusable_total (\d+)/);
    }
    expect(sums.failed).toBeGreaterThan(3);
    expect(sums.unusable).toBe(1);
  });

  it("leaves out other namespaces, and services without containers", async () => {
    const trainer = new TrainerHere();
    const made = make(trainer);
    const changed = (change: object): WindowSet[] =>
      SETS.slice(0, 5).map((set) => ({
        ...set,
        windows: set.windows.map((each) => Object.assign({ ...each }, change)),
      }));
    for (const set of [...changed({ namespace: "else" }), ...changed({ containers: [] })]) {
      made.learning.observe(set);
      await made.learning.settled();
    }
    expect(trainer.jobs).toHaveLength(0);
  });
});
