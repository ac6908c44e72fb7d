import type { QuotaAmounts } from "@tradewind/core/contract/workload.ts";
import { QUOTA_AMOUNTS } from "@tradewind/core/contract/workload.ts";

/** A service by its name and rank. */
export interface RankedService {
  readonly application: string;
  readonly service: string;
  readonly priority: number;
}

/** A service whose route misses its objective, and that has no room for the replicas it is to have. */
export interface StarvedService extends RankedService {
  readonly isOptional: boolean;
  /** What all of those replicas take of what is short, and what one of them takes. */
  readonly lacks: QuotaAmounts;
  readonly one: QuotaAmounts;
  /** That has no room; absent where no node has. */
  readonly quota?: string;
}

/** An optional service that runs more than its minimum. */
export interface Spare extends RankedService {
  /** Replicas above the minimum. */
  readonly replicas: number;
  /** What one of them takes. */
  readonly takes: QuotaAmounts;
  /** Goes down already, for whomever. */
  readonly isBrownedOut: boolean;
}

export interface BrownoutChoice {
  readonly spare: Spare;
  readonly for: StarvedService;
}

/**
 * The optional services that go down to make room: for the higher priority first, the lowest priority first, and no more than it takes.
 * None where all of them together would not make room for one replica. What goes down already counts, and is not named.
 */
export function chooseBrownouts(
  starved: readonly StarvedService[],
  spares: readonly Spare[],
): BrownoutChoice[] {
  const choices: BrownoutChoice[] = [];
  const left = new Set(spares.filter(({ replicas }) => replicas > 0));
  for (const each of starved.toSorted(byPriority((a, b) => b - a))) {
    const behind = [...left].filter((spare) => comesBefore(each, spare)).sort(inOrder);
    const taken = enoughFor(each, behind);
    for (const spare of taken) {
      left.delete(spare);
      if (!spare.isBrownedOut) choices.push({ spare, for: each });
    }
  }
  return choices;
}

/** Of equal priority the optional one comes after. */
const comesBefore = (a: StarvedService, spare: Spare): boolean =>
  a.priority > spare.priority || (a.priority === spare.priority && !a.isOptional);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const byPriority =
  (order: (a: number, b: number) => number) =>
  (a: RankedService, b: RankedService): number =>
    order(a.priority, b.priority) || compare(a.application, b.application) || compare(a.service, b.service);

function inOrder(a: Spare, b: Spare): number {
  return Number(b.isBrownedOut) - Number(a.isBrownedOut) || byPriority((x, y) => x - y)(a, b);
}

/** The first of them that make room together; none where all of them do not do so for one replica. */
function enoughFor({ lacks, one }: StarvedService, spares: readonly Spare[]): Spare[] {
  const short = QUOTA_AMOUNTS.filter((amount) => (lacks[amount] ?? 0) > 0);
  const freed: QuotaAmounts = {};
  const covers = (amounts: QuotaAmounts): boolean =>
    short.every((amount) => (freed[amount] ?? 0) >= (amounts[amount] ?? 0));
  const takenSpares: Spare[] = [];
  for (const spare of spares) {
    if (covers(lacks)) break;
    const helps = short.some(
      (amount) => (freed[amount] ?? 0) < (lacks[amount] ?? 0) && (spare.takes[amount] ?? 0) > 0,
    );
    if (!helps) continue;
    for (const amount of short)
      freed[amount] = (freed[amount] ?? 0) + spare.replicas * (spare.takes[amount] ?? 0);
    takenSpares.push(spare);
  }
  return covers(one) ? takenSpares : [];
}
