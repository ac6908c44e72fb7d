import type { Allocation, Plan } from "@tradewind/core/contract/plan.ts";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { plannedOf } from "@tradewind/exporter/silence/decide-service.ts";
import type { NamedStudent } from "@tradewind/exporter/silence/decide-service.ts";
import { asList, loadRatio, studentInputs, TREND_MS } from "@tradewind/core/students/inputs.ts";
import type { LoadPoint } from "@tradewind/core/students/inputs.ts";
import type { ServiceReading } from "@tradewind/core/students/reading.ts";
import { PATIENCE_MS } from "@tradewind/exporter/plans/predictor-choice.ts";
import { silenceLimitMs } from "@tradewind/exporter/silence/silence.ts";
import { SilentPlans } from "@tradewind/exporter/silence/silent-plans.ts";
import type { ServiceUse, World } from "../../world.ts";
import type { ScalerAtWork } from "./scaler-at-work.ts";

/** What decides while the predictor's process is down. `planner`: the predictor all the same, to be learnt from. */
export interface SilenceKind {
  readonly drive: "hold" | "reactive" | "students" | "planner";
  readonly student?: NamedStudent;
  /** Hears what the planner would do at every moment of the silence; the predictor then goes on in its shadow. */
  readonly lessons?: (lesson: Lesson) => void;
}

/** What a student could see at one moment, what was in force, and what the planner makes of the window around it. */
export interface Lesson {
  readonly service: string;
  readonly inputs: readonly number[];
  readonly before: DecisionRecord;
  /** By the last plan before the silence. */
  readonly planned: Allocation;
  readonly wished: Plan["wishes"][number];
}

interface Parts {
  readonly scaler: ScalerAtWork;
  readonly world: World;
  readonly windowSeconds: number;
}

interface Moment {
  readonly inputs: readonly number[];
  readonly before: DecisionRecord;
}

/** Use over this time is what an agent's reading stands for. ms */
const READ_OVER_MS = 15_000;

/** The exporter's own decisions of a silence, around what the simulated agents read. */
export class SilenceAtWork {
  private readonly kind: SilenceKind;
  private readonly parts: Parts;
  private readonly silent: SilentPlans;
  private uses: ReadonlyMap<string, ServiceUse> = new Map();
  private readAtMs = 0;
  private sinceMs: number | undefined;
  private readonly planned = new Map<string, ReturnType<typeof plannedOf>>();
  private readonly loads = new Map<string, LoadPoint[]>();
  private moments = new Map<string, Moment[]>();

  constructor(kind: SilenceKind, parts: Parts) {
    this.kind = kind;
    this.parts = parts;
    this.silent = new SilentPlans({
      inForce: (_, service) => parts.scaler.inForce(service),
      reading: ({ service }) => this.reading(service),
      student: () => (kind.drive === "students" ? kind.student : undefined),
    });
  }

  /** To be called every few seconds. */
  async look(isDown: boolean, nowMs: number): Promise<void> {
    const { scaler, windowSeconds, world } = this.parts;
    if (!isDown) {
      this.sinceMs = undefined;
      this.moments.clear();
      return;
    }
    this.uses = world.serviceUses?.(nowMs - READ_OVER_MS, nowMs) ?? new Map();
    this.readAtMs = nowMs;
    this.sinceMs ??= this.begin(nowMs);
    if (this.kind.lessons !== undefined) this.note(nowMs);
    if (this.kind.drive === "hold" || this.kind.drive === "planner") return;
    const answeredMs = this.sinceMs + PATIENCE_MS;
    await scaler.decideAlone(this.silent, silenceLimitMs({ windowSeconds, answeredMs }, nowMs), nowMs);
  }

  /** Tells the lessons what the planner made of the window that the last moments lie in. */
  label({ wishes }: Plan): void {
    for (const wish of wishes) {
      const planned = this.planned.get(wish.service)?.allocation;
      for (const { before, inputs } of this.moments.get(wish.service) ?? []) {
        if (planned !== undefined)
          this.kind.lessons?.({ service: wish.service, inputs, before, planned, wished: wish });
      }
    }
    this.moments = new Map();
  }

  private begin(nowMs: number): number {
    this.loads.clear();
    for (const { decidedMs, json } of this.parts.scaler.entries()) {
      const record = JSON.parse(json) as DecisionRecord;
      const planned = plannedOf({ record, decidedMs: decidedMs ?? nowMs });
      this.planned.set(record.service, planned);
      this.loads.set(record.service, [{ atMs: planned.atMs, ratio: 1 }]);
    }
    return nowMs;
  }

  private note(nowMs: number): void {
    for (const { json } of this.parts.scaler.entries()) {
      const before = JSON.parse(json) as DecisionRecord;
      const { service } = before;
      const planned = this.planned.get(service);
      const reading = this.reading(service);
      if (planned === undefined || reading === undefined) continue;
      const earlier = (this.loads.get(service) ?? []).filter(({ atMs }) => atMs >= nowMs - TREND_MS);
      const inputs = studentInputs(reading, planned, before.final.replicas, earlier);
      const ratio = loadRatio(reading, planned);
      this.loads.set(service, ratio === undefined ? earlier : [...earlier, { atMs: nowMs, ratio }]);
      if (inputs === undefined) continue;
      const moments = this.moments.get(service) ?? [];
      this.moments.set(service, [...moments, { inputs: asList(inputs), before }]);
    }
  }

  private reading(service: string): ServiceReading | undefined {
    const use = this.uses.get(service);
    return use && { ...use, atMs: this.readAtMs };
  }
}
