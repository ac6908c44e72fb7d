import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { ServedRow } from "@tradewind/exporter/keep/served-table.ts";
import type { FetchedPlan } from "@tradewind/exporter/plans/plan-fetcher.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { between, oneIn, pick } from "../../test/fuzz/engine/draw.ts";
import { SimulatedDisk } from "./disk.ts";
import { Recorder } from "./laws.ts";
import type { Breach, InForce, PlanTruth } from "./laws.ts";
import { Leaders } from "./leaders.ts";
import { Points } from "./points.ts";
import { SERVICES, SimulatedPredictor } from "./predictor.ts";
import {
  applicationOf,
  CLOCK_TOLERANCE_SECONDS,
  ScalerLife,
  SimulatedJournal,
  STALE_AFTER_SECONDS,
} from "./scaler.ts";
import { MachineClock, settled, VirtualTime } from "./virtual-time.ts";

const START_MS = 1_800_000_000_000;
const STEPS = 250;
const FIRST_REPLICAS = 3;
/** Between the clocks of two nodes: less than what the scaler tolerates. */
const MOST_SKEW_MS = 4_000;

/** What kind of application a seed is about. */
const KINDS = {
  /** Decisions are carried out. */
  follow: { mode: "act", isApproved: false, isPushing: false, isPersonThere: false },
  /** Large changes wait for a person, who approves and refuses. */
  approve: { mode: "act", isApproved: true, isPushing: false, isPersonThere: true },
  /** The predictor asks for far more than is needed, and nobody approves. */
  held: { mode: "act", isApproved: true, isPushing: true, isPersonThere: false },
  /** Nothing is carried out. */
  observe: { mode: "observe", isApproved: false, isPushing: false, isPersonThere: false },
} as const;
const KIND_NAMES = Object.keys(KINDS) as (keyof typeof KINDS)[];

export interface WorldResult {
  readonly breaches: readonly Breach[];
  readonly answers: number;
}

/** Breaks the world itself, to see that the laws notice. */
export interface Sabotage {
  /** The disk says that it has flushed and has not. */
  readonly lyingDisk?: boolean;
}

/**
 * One world from its beginning to its end: a scaler, its disk and its journal, a predictor, KEDA and a person, whose doings are interleaved as
 * the seed says. The same seed gives the same world.
 * @param kills by failpoint, how often a process was killed there; added to
 */
export async function play(
  seed: number,
  kills: Map<string, number>,
  sabotage: Sabotage = {},
): Promise<WorldResult> {
  using time = new VirtualTime();
  const world = new World(seed, time, kills, sabotage);
  await world.run();
  return { breaches: world.recorder.breaches, answers: world.recorder.answers };
}

class World {
  readonly recorder: Recorder;
  readonly #rng: Rng;
  readonly #time: VirtualTime;
  readonly #points: Points;
  readonly #disk: SimulatedDisk;
  readonly #journal = new SimulatedJournal();
  readonly #machine: MachineClock;
  readonly #predictor: SimulatedPredictor;
  readonly #leaders: Leaders;
  readonly #kind: (typeof KINDS)[keyof typeof KINDS];
  readonly #running = new Map<string, number>(SERVICES.map((service) => [service, FIRST_REPLICAS]));
  readonly #inForce = new Map<string, InForce>();
  /** By service, the newest plan by which KEDA was answered. */
  readonly #lastServed = new Map<string, PlanTruth>();
  /** By service, the newest plan whose decision was on disk before KEDA was answered by it. */
  readonly #acknowledged = new Map<string, PlanTruth>();
  /** Verdicts that the scaler has said to have taken. */
  readonly #approved = new Set<string>();
  /** By service, the change that let its newest decision through, until KEDA is answered by it. */
  readonly #uses = new Map<string, { readonly id: string; readonly decidedAtMs: number }>();
  /** The plan that was settled last, and the oldest one of whose changes the journal does not have all, by their times. */
  #settledAtMs = 0;
  #journalOwes: number | undefined;
  #isNetworkCut = false;
  #scaler: ScalerLife;

  constructor(seed: number, time: VirtualTime, kills: Map<string, number>, sabotage: Sabotage) {
    this.#rng = seededRng(seed);
    this.#time = time;
    this.#points = new Points(kills);
    this.#disk = new SimulatedDisk(this.#points, sabotage.lyingDisk === true);
    this.#kind = KINDS[pick(this.#rng, KIND_NAMES)];
    const staleMs = (STALE_AFTER_SECONDS + CLOCK_TOLERANCE_SECONDS) * 1e3;
    this.recorder = new Recorder(seed, staleMs, () => time.nowMs);
    this.#machine = new MachineClock(time, START_MS, 0);
    const skewMs = between(this.#rng, -MOST_SKEW_MS, MOST_SKEW_MS);
    const clock = new MachineClock(time, START_MS, skewMs);
    const { isPushing, mode } = this.#kind;
    this.#predictor = new SimulatedPredictor({ rng: this.#rng, time, clock, isPushing, mode });
    this.#leaders = new Leaders(this.#points, this.#rng, time, (what) =>
      this.recorder.breach("leader", what),
    );
    this.#scaler = this.#born();
  }

  async run(): Promise<void> {
    for (let step = 0; step < STEPS; step += 1) {
      await this.#step();
      await settled();
      this.#askAsKeda();
      this.#leaders.look();
    }
    this.#points.kill(this.#scaler);
    this.#leaders.end();
  }

  #born(): ScalerLife {
    const { isApproved, mode } = this.#kind;
    const life = new ScalerLife(
      {
        points: this.#points,
        isDiskFull: () => this.#disk.isFull,
        journal: this.#journal,
        clock: this.#machine,
        rng: this.#rng,
        application: applicationOf(mode, isApproved),
        ask: () => {
          if (this.#isNetworkCut) throw new TradewindError("connection", "the network is cut");
          return this.#predictor.body;
        },
        onServed: (rows, taking, saved) => this.#served(rows, taking, saved),
        onSettled: (record) => this.#used(record),
        onJournal: (isWritten) => {
          this.#journalOwes = isWritten ? undefined : (this.#journalOwes ?? this.#settledAtMs);
        },
      },
      (own) => this.#disk.of(own),
    );
    void life.begin().then(() => this.#restored());
    return life;
  }

  async #step(): Promise<void> {
    const rng = this.#rng;
    if (this.#points.size > 0 && oneIn(rng, 1.6)) return this.#points.release(rng);
    const drawn = rng();
    if (drawn < 0.4) return this.#time.pass(pick(rng, [10, 300, 1_000, 1_000, 5_000]));
    if (drawn < 0.68) return this.#predictor.plan(this.#running);
    if (drawn < 0.76) return this.#follow();
    if (drawn < 0.82) return this.#person();
    if (drawn < 0.86) return this.#end(oneIn(rng, 3));
    if (drawn < 0.89) return this.#leaders.step();
    return this.#trouble();
  }

  async #trouble(): Promise<void> {
    const rng = this.#rng;
    switch (between(rng, 0, 7)) {
      case 0:
        this.#disk.isFull = !this.#disk.isFull;
        return;
      case 1:
        this.#isNetworkCut = !this.#isNetworkCut;
        return;
      case 2:
        this.#predictor.restart();
        return;
      case 3:
        this.#predictor.isFrozen = !this.#predictor.isFrozen;
        return;
      case 4: {
        const ms = pick(rng, [2_000, 60_000, 400_000]);
        this.#time.suspend(ms);
        this.#machine.suspendedMs += ms;
        this.#leaders.suspend(ms);
        return;
      }
      case 5:
        // A wall clock that is set while the process runs; it is right again when one starts.
        this.#machine.skewMs = pick(rng, [-3_600_000, -2_000, 0, 2_000, 3_600_000]);
        return;
      case 6:
        await this.#time.pass(pick(rng, [30_000, 310_000]));
        return;
      default:
        this.#disk.isFull = false;
        this.#isNetworkCut = false;
        this.#predictor.isFrozen = false;
    }
  }

  /** The platform carries out what KEDA was answered. */
  #follow(): void {
    for (const service of SERVICES) {
      const told = this.#scaler.answer(service);
      if (told !== undefined && this.#kind.mode === "act") this.#running.set(service, told);
    }
  }

  #person(): void {
    if (!this.#kind.isPersonThere) return;
    const { clock, queue } = this.#scaler;
    const waiting = queue.list().filter(({ state }) => state === "awaiting");
    if (waiting.length === 0) return;
    const { id } = pick(this.#rng, waiting);
    const verdict = oneIn(this.#rng, 4) ? "refuse" : "approve";
    void queue.decide(id, { verdict, by: "ann", notBeforeMs: undefined }, clock.nowMs()).then(
      () => void this.#approved.add(id),
      () => undefined,
    );
  }

  /** The process is killed, or the power is cut; another one is started at once. */
  #end(isPowerCut: boolean): void {
    this.#points.kill(this.#scaler);
    if (isPowerCut) this.#disk.cutPower(this.#rng);
    this.#machine.skewMs = 0;
    this.#uses.clear();
    this.#scaler = this.#born();
  }

  #restored(): void {
    const { queue, recommender } = this.#scaler;
    for (const service of SERVICES) {
      // What the disk did not take is gone with the process.
      const entry = recommender.book.get("shop", service);
      const { decidedAtMs = 0 } = entry?.recommendation ?? {};
      const truth = this.#predictor.truthOf(entry?.basis.predictorStartedAtMs, decidedAtMs);
      const isLast = truth === this.#lastServed.get(service);
      if (!isLast) this.recorder.forget(service);
      // What became of a change shows in the decision that carried it out, as long as that is in force.
      if (!isLast || (this.#journalOwes ?? decidedAtMs) !== decidedAtMs) this.recorder.lost();
    }
    this.#journalOwes = undefined;
    for (const [service, truth] of this.#acknowledged) {
      const entry = recommender.book.get("shop", service);
      const found =
        entry && this.#predictor.truthOf(entry.basis.predictorStartedAtMs, entry.recommendation.decidedAtMs);
      if (found === undefined || found.madeMs < truth.madeMs)
        this.recorder.breach(
          "durable",
          `${service}: the decision of ${truth.madeMs} ms was served, and that of ${found?.madeMs} ms came back`,
        );
    }
    const waiting = new Set(
      queue
        .list()
        .filter(({ state }) => state === "awaiting")
        .map(({ id }) => id),
    );
    for (const id of this.#approved)
      if (waiting.has(id)) this.recorder.breach("durable", `the verdict on change ${id} is gone`);
  }

  #served(
    rows: readonly ServedRow[],
    taking: FetchedPlan | undefined,
    saved: ReadonlyMap<string, number>,
  ): void {
    for (const { decided, service } of rows) {
      if (decided === undefined) {
        this.#inForce.delete(service);
        continue;
      }
      const isOfPlan = taking !== undefined && decided.decidedMs === taking.madeMs;
      const entry = this.#scaler.recommender.book.get("shop", service);
      const [startedAtMs, plannedAtMs] = isOfPlan
        ? [taking.header.predictorStartedAtMs, taking.header.plannedAtMs]
        : [entry?.basis.predictorStartedAtMs, entry?.recommendation.decidedAtMs ?? 0];
      const truth = this.#predictor.truthOf(startedAtMs, plannedAtMs);
      if (truth === undefined) continue;
      this.#inForce.set(service, { replicas: decided.replicas, truth });
      if (!isOfPlan) continue;
      this.#lastServed.set(service, truth);
      const use = this.#uses.get(service);
      if (use !== undefined) this.recorder.use(use.id, use.decidedAtMs);
      if (saved.get(service) === plannedAtMs) this.#acknowledged.set(service, truth);
    }
  }

  /** Whether an approved change let a decision past what goes without a person. */
  #used({ context, decidedAtMs, final, service, wish }: DecisionRecord): void {
    this.#uses.delete(service);
    this.#settledAtMs = decidedAtMs;
    const before = context.previous?.replicas ?? wish.observed.replicasWanted ?? 0;
    const needed = wish.evidence["needReplicas"] ?? 0;
    const { changes = [], reference, replicasRatio = 0 } = context.approval ?? {};
    const from = reference?.replicas ?? before;
    // What is not large, and what demand needs, goes without a person.
    const free = Math.max(before, needed, from + replicasRatio * Math.max(1, from));
    for (const { id, resource, state, to } of changes) {
      const isUse = state === "approved" && resource === "replicas" && to > from;
      if (isUse && final.replicas >= to && to > free) this.#uses.set(service, { id, decidedAtMs });
    }
  }

  #askAsKeda(): void {
    for (const service of SERVICES) {
      const told = this.#scaler.answer(service);
      if (told === undefined) {
        this.recorder.forget(service);
        continue;
      }
      const by = this.#inForce.get(service);
      const isHeld = this.#kind.isPushing || this.#kind.mode === "observe";
      const held = this.#kind.mode === "observe" ? by?.truth.running[service] : FIRST_REPLICAS;
      this.recorder.answer(service, told, by, isHeld ? held : undefined);
    }
  }
}
