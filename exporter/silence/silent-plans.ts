import type { Wish, WishWorkload } from "@tradewind/core/contract/plan.ts";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { sameAllocation } from "../decide/guard/baseline.ts";
import type { TakenPlan } from "../decide/recommender.ts";
import { bookKey } from "../keep/book-entry.ts";
import type { BookEntry } from "../keep/book-entry.ts";
import { decideService, plannedOf } from "./decide-service.ts";
import type { NamedStudent, SilentService } from "./decide-service.ts";
import { loadRatio, TREND_MS } from "@tradewind/core/students/inputs.ts";
import type { LoadPoint, PlannedService } from "@tradewind/core/students/inputs.ts";
import type { ServiceReading } from "@tradewind/core/students/reading.ts";

/** What decisions of a silence are made from. */
export interface SilenceSources {
  /** What runs of a service, as read last; undefined where nothing is known of it. */
  readonly reading: (service: ReadService) => ServiceReading | undefined;
  /** Id of the decision in force for a service. What a predictor decided meanwhile stands. */
  readonly inForce: (namespace: string, service: string) => string | undefined;
  /** The student of a service; undefined where there is none: the reactive need decides. */
  readonly student: (service: ReadService) => NamedStudent | undefined;
}

export interface ReadService {
  readonly application: string;
  readonly namespace: string;
  readonly service: string;
  readonly workloads: readonly WishWorkload[];
}

/** Some plans of one application, with who they are of. */
export interface SilentPlan {
  readonly application: string;
  readonly namespace: string;
  readonly plan: TakenPlan;
}

/** A decision that changes nothing is made again this often, so that it does not grow old. ms */
const KEEP_MS = 15_000;

/** A decision in force, read back. */
export interface KnownDecision {
  readonly record: DecisionRecord;
  readonly decidedMs: number;
  readonly planned: ReturnType<typeof plannedOf>;
}

interface SilentWish {
  readonly wish: Wish;
  /** Id of the decision that it was made from. */
  readonly after: string;
}

/** Makes plans from the decisions in force while no predictor does; knows nothing else but how the load has gone. */
export class SilentPlans {
  private readonly sources: SilenceSources;
  private readonly loads = new Map<string, { readonly plannedMs: number; points: LoadPoint[] }>();
  private sequence = 0;

  constructor(sources: SilenceSources) {
    this.sources = sources;
  }

  /**
   * One plan for each application whose last one was made before `silentSinceMs`, with the services that are decided on now.
   * @param all the decisions in force, see {@link knownOf}
   * @param silentSinceMs of an application; undefined: it is not silent
   */
  *plans(
    all: readonly KnownDecision[],
    silentSinceMs: (application: Pick<ReadService, "application" | "namespace">) => number | undefined,
    nowMs: number,
  ): Generator<SilentPlan> {
    this.forgetLoadsBut(all);
    const byApplication = Map.groupBy(all, ({ record }) => `${record.namespace}/${record.application}`);
    for (const known of byApplication.values()) {
      const [first] = known;
      if (first === undefined) continue;
      const { application, namespace } = first.record;
      const limitMs = silentSinceMs({ application, namespace });
      const newestMs = known.reduce((newest, { planned }) => Math.max(newest, planned.decidedMs), 0);
      if (limitMs === undefined || newestMs >= limitMs) continue;
      this.sequence += 1;
      const { context, decidedAtMs } = first.record;
      const decided = known.flatMap((each): SilentWish[] => {
        const wish = this.wishOf(each, nowMs);
        return wish === undefined ? [] : [{ wish, after: each.record.id }];
      });
      if (decided.length === 0) continue;
      const header: TakenPlan["header"] = {
        application,
        namespace,
        sequence: this.sequence,
        predictorStartedAtMs: context.predictorStartedAtMs ?? 0,
        plannedAtMs: Math.max(0, Math.round(nowMs + decidedAtMs - first.decidedMs)),
        ...(context.mode && { mode: context.override?.mode ?? context.mode }),
        disruptions: known.flatMap(({ record: { context: of, service } }) =>
          of.disruptions === undefined ? [] : [{ service, ...of.disruptions }],
        ),
      };
      const wishes = { [Symbol.iterator]: () => this.stillWanted(decided) };
      yield { application, namespace, plan: { header, wishes, madeMs: nowMs, isPartial: true } };
    }
  }

  private *stillWanted(decided: readonly SilentWish[]): Generator<Wish> {
    for (const { after, wish } of decided) {
      if (this.sources.inForce(wish.namespace, wish.service) === after) yield wish;
    }
  }

  private wishOf({ decidedMs, planned, record }: KnownDecision, nowMs: number): Wish | undefined {
    const { application, namespace, service, wish } = record;
    const asked: ReadService = { application, namespace, service, workloads: wish.workloads ?? [] };
    const reading = this.sources.reading(asked);
    if (reading === undefined) return undefined;
    const silent: SilentService = {
      record,
      decidedMs,
      reading,
      earlier: this.loadsOf(bookKey(namespace, service), planned, reading),
      student: this.sources.student(asked),
      nowMs,
    };
    const decided = decideService(silent);
    if (decided === undefined) return undefined;
    const isDue = nowMs - decidedMs >= KEEP_MS || !sameAllocation(decided.allocation, record.final);
    return isDue ? decided : undefined;
  }

  private forgetLoadsBut(all: readonly KnownDecision[]): void {
    const keys = new Set(all.map(({ record: { namespace, service } }) => bookKey(namespace, service)));
    for (const key of this.loads.keys()) if (!keys.has(key)) this.loads.delete(key);
  }

  /** The load of this silence before the reading. */
  private loadsOf(
    key: string,
    planned: PlannedService & { readonly decidedMs: number },
    reading: ServiceReading,
  ): readonly LoadPoint[] {
    let known = this.loads.get(key);
    if (known === undefined || Math.abs(known.plannedMs - planned.decidedMs) > 1e3) {
      known = { plannedMs: planned.decidedMs, points: [{ atMs: planned.atMs, ratio: 1 }] };
      this.loads.set(key, known);
    }
    const earlier = known.points.filter(({ atMs }) => atMs < reading.atMs && atMs >= reading.atMs - TREND_MS);
    const ratio = loadRatio(reading, planned);
    known.points = ratio === undefined ? earlier : [...earlier, { atMs: reading.atMs, ratio }];
    return earlier;
  }
}

/** Reads decisions back one by one, so that a caller with thousands can pause between two. */
export function* knownOf(entries: Iterable<BookEntry>): Generator<KnownDecision> {
  for (const { decidedMs, json } of entries) {
    if (decidedMs === undefined) continue;
    const record = JSON.parse(json) as DecisionRecord;
    yield { record, decidedMs, planned: plannedOf({ record, decidedMs }) };
  }
}
