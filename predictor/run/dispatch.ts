import type { Claim } from "../window/claims.ts";
import type { AddResult, ArrivalDrop } from "../window/drops.ts";
import { countDrop } from "../window/drops.ts";
import { SpanBatch } from "../window/span.ts";
import type { SpanResource } from "../window/span.ts";

export interface DispatchOptions {
  readonly claim: (namespace: string | undefined, service: string) => Claim;
  /** Takes spans of the application of this key; undefined where there is none any more. */
  readonly intake: (key: string) => ((batch: SpanBatch) => AddResult) | undefined;
}

/** Names of services that are remembered, with whose they are. */
const MOST_NAMES = 20_000;

/**
 * Hands each span to the application whose service it is of, and to each of several where it is not known who had its name first. Spans of
 * services that nobody has are refused.
 */
export class Dispatch {
  readonly drops: Partial<Record<ArrivalDrop, number>> = { "no-application": 0 };
  readonly #options: DispatchOptions;
  readonly #part = new SpanBatch();
  readonly #claims = new Map<string, Claim>();

  constructor(options: DispatchOptions) {
    this.#options = options;
  }

  /** Whose services are has changed. */
  forget(): void {
    this.#claims.clear();
  }

  /** Leaves in the batch for how many requests each span counts, 0 for those that were refused. */
  add(batch: SpanBatch): AddResult {
    const { invalidIds, length, resources } = batch;
    const claims = resources.map((resource) => this.#claim(resource));
    const claimOf = (index: number): Claim | undefined => claims[batch.resource[index] ?? 0];
    const [first] = claims;
    if (first?.owner !== undefined && claims.every(({ owner }) => owner === first.owner)) {
      const take = this.#options.intake(first.owner);
      if (take !== undefined) return take(batch);
    }
    const sum: Sum = {
      accepted: 0,
      rejected: invalidIds,
      reasons: invalidIds > 0 ? { "invalid-id": invalidIds } : {},
    };
    for (let from = 0, to = 0; from < length; from = to) {
      const claim = claimOf(from);
      for (to = from + 1; to < length && isSame(claim, claimOf(to));) to += 1;
      this.#hand(batch, { from, to, claim }, sum);
    }
    return sum;
  }

  #hand(batch: SpanBatch, { claim, from, to }: Run, sum: Sum): void {
    const owners = claim?.owner === undefined ? (claim?.several ?? []) : [claim.owner];
    const intakes = owners.flatMap((owner) => this.#options.intake(owner) ?? []);
    const [take, ...others] = intakes;
    if (take === undefined) {
      batch.adjustedCount.fill(0, from, to);
      countDrop(this.drops, "no-application", to - from);
      countDrop(sum.reasons, "no-application", to - from);
      sum.rejected += to - from;
      return;
    }
    for (const takeToo of others) this.#handPart(batch, { from, to }, takeToo);
    const taken = this.#handPart(batch, { from, to }, take, (counts) =>
      batch.adjustedCount.set(counts, from),
    );
    sum.accepted += taken.accepted;
    sum.rejected += taken.rejected;
    for (const [reason, count] of Object.entries(taken.reasons))
      countDrop(sum.reasons, reason as ArrivalDrop, count);
  }

  /** @param onCounts hears for how many requests each span counts */
  #handPart(
    batch: SpanBatch,
    { from, to }: Pick<Run, "from" | "to">,
    take: (batch: SpanBatch) => AddResult,
    onCounts?: (counts: Float64Array) => void,
  ): AddResult {
    const part = this.#part;
    part.takeRange(batch, from, to);
    const taken = take(part);
    onCounts?.(part.adjustedCount.subarray(0, to - from));
    part.clear(0);
    return taken;
  }

  #claim({ namespace, service }: SpanResource): Claim {
    const name = `${namespace ?? ""}\n${service}`;
    const known = this.#claims.get(name);
    if (known !== undefined) return known;
    const claim = this.#options.claim(namespace, service);
    if (this.#claims.size >= MOST_NAMES) this.#claims.clear();
    this.#claims.set(name, claim);
    return claim;
  }
}

interface Sum {
  accepted: number;
  rejected: number;
  readonly reasons: Partial<Record<ArrivalDrop, number>>;
}

interface Run {
  readonly from: number;
  readonly to: number;
  readonly claim: Claim | undefined;
}

const isSame = (a: Claim | undefined, b: Claim | undefined): boolean =>
  a === b || (a?.owner !== undefined && a.owner === b?.owner);
