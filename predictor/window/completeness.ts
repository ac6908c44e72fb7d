import type { ArrivalDrop } from "./drops.ts";
import type { HandledMessages, SpanEvidence } from "./lost-spans.ts";

/** A larger share of a service's requests or spans that does not count is named. */
const TOLERATED_SHARE = 0.02;
/** A single one may be chance. */
const LEAST_LOST = 2;
/** Delays are told apart by quarters of a second up to 8 s, and by seconds up to a minute. */
const STEP_SECONDS = 0.25;
const FINE_SECONDS = 8;
const FINE_STEPS = FINE_SECONDS / STEP_SECONDS;
const STEPS = FINE_STEPS + 56;
/** Spans that make a delay known. */
const ENOUGH_SPANS = 20;
/** Spans of the first window that make it known where all of them are late. */
const ENOUGH_LATE = 5;
/** Where some came in time the others may have been held up once, while nobody received. */
const MOST_AT_FIRST_SECONDS = 15;
/** Most spans come no later than that. */
const DELAY_QUANTILE = 0.99;
/** Beyond the step in which the last of them come. */
const MARGIN_SECONDS = 0.25;

/** What each refused span lacks, for people. */
const WORDS: Partial<Record<ArrivalDrop, string>> = {
  unfinished: "have no end: whoever sends them exports spans that are still open",
  "invalid-id": "have no id, or one of the wrong length",
  "negative-duration": "end before they start",
  "too-long": "last longer than an hour",
  "too-old":
    "ended too long ago: the clock here or at their sender is wrong, or they are on the way for minutes",
  "too-far-ahead": "end in the future: the clock here or at their sender is wrong",
  "trace-too-large": "are of traces that hold too many spans",
};

type SeenSpans = Omit<SpanEvidence, "handled" | "pods"> & {
  readonly handled: ReadonlyMap<number, HandledMessages>;
};

/** What came of one service since the last window, and how late. */
class ServiceTally {
  spans = 0;
  requests = 0;
  late = 0;
  called = 0;
  callerLost = 0;
  orphans = 0;
  doubled = 0;
  sent = 0;
  /** Messages of this service that were handled below the span that sent them, by the service that did. */
  readonly handled = new Map<number, HandledMessages>();
  readonly refused = new Map<ArrivalDrop, { spans: number; requests: number }>();
  /** Requests by the time from their end to their arrival: in this window, in the last one and in the one before. */
  delays = new Uint32Array(STEPS);
  private last = new Uint32Array(STEPS);
  private earlier = new Uint32Array(STEPS);

  next(): void {
    this.spans = 0;
    this.requests = 0;
    this.late = 0;
    this.called = 0;
    this.callerLost = 0;
    this.orphans = 0;
    this.doubled = 0;
    this.sent = 0;
    this.handled.clear();
    this.refused.clear();
    [this.earlier, this.last, this.delays] = [this.last, this.delays, this.earlier];
    this.delays.fill(0);
  }

  /**
   * Time after which nearly all requests came, seconds: the lesser of two windows, since a pipeline that stood still sends all at once. Before
   * there are two it is what is known so far, at most `MOST_AT_FIRST_SECONDS` where some came within `graceSeconds`.
   */
  delaySeconds(graceSeconds: number): number | undefined {
    const [last, earlier] = [usualSeconds(this.last, ENOUGH_SPANS), usualSeconds(this.earlier, ENOUGH_SPANS)];
    if (last !== undefined && earlier !== undefined) return Math.min(last, earlier);
    const first = last === undefined ? this.delays : this.last;
    for (let step = 0; step < STEPS && upTo(step) <= graceSeconds; step += 1)
      if (first[step] !== 0) return atMost(usualSeconds(first, ENOUGH_SPANS), MOST_AT_FIRST_SECONDS);
    return usualSeconds(first, ENOUGH_LATE);
  }
}

function usualSeconds(delays: Uint32Array, enough: number): number | undefined {
  let total = 0;
  for (const count of delays) total += count;
  if (total < enough) return undefined;
  let left = (1 - DELAY_QUANTILE) * total;
  for (let step = STEPS - 1; step > 0; step -= 1) {
    left -= delays[step] ?? 0;
    if (left < 0) return upTo(step);
  }
  return 0;
}

const atMost = (seconds: number | undefined, most: number): number | undefined =>
  seconds === undefined ? undefined : Math.min(seconds, most);

/** The longest delay of a step, seconds. */
const upTo = (step: number): number =>
  step <= FINE_STEPS ? step * STEP_SECONDS : FINE_SECONDS + step - FINE_STEPS;

function stepOf(seconds: number): number {
  if (seconds <= 0) return 0;
  const step = seconds <= FINE_SECONDS ? seconds / STEP_SECONDS : FINE_STEPS + seconds - FINE_SECONDS;
  return Math.min(STEPS - 1, Math.ceil(step));
}

export interface WaitLimits {
  /** Windows wait for late spans at least this long, seconds. */
  readonly leastSeconds: number;
  /** And no longer than this. */
  readonly mostSeconds: number;
  /** For services that are no entry, unless an entry's spans come as late. */
  readonly mostOfOthersSeconds: number;
}

/** How much of each service was seen: what came too late, or could not be taken, beside what was counted. By numbers of services. */
export class Completeness {
  private readonly tallies: ServiceTally[] = [];
  /** Spans refused since the service is known, by number of the service and reason. */
  readonly refusedTotals = new Map<number, Map<ArrivalDrop, number>>();

  /** A span of the service was taken. @param delaySeconds since its end; NaN where it is no request */
  taken(service: number, delaySeconds: number): void {
    const tally = (this.tallies[service] ??= new ServiceTally());
    tally.spans += 1;
    if (Number.isNaN(delaySeconds)) return;
    tally.requests += 1;
    const step = stepOf(delaySeconds);
    tally.delays[step] = (tally.delays[step] ?? 0) + 1;
  }

  refused(service: number, reason: ArrivalDrop, isRequest: boolean): void {
    const { refused } = (this.tallies[service] ??= new ServiceTally());
    const counts = refused.get(reason) ?? { spans: 0, requests: 0 };
    counts.spans += 1;
    if (isRequest) counts.requests += 1;
    refused.set(reason, counts);
    const totals = this.refusedTotals.get(service) ?? new Map<ArrivalDrop, number>();
    this.refusedTotals.set(service, totals.set(reason, (totals.get(reason) ?? 0) + 1));
  }

  /** A request of a window that was built already. */
  late(service: number): void {
    (this.tallies[service] ??= new ServiceTally()).late += 1;
  }

  /** A request with a caller, whose span came or did not. */
  called(service: number, callerCame: boolean): void {
    const tally = (this.tallies[service] ??= new ServiceTally());
    if (callerCame) tally.called += 1;
    else tally.callerLost += 1;
  }

  /** A span within a request of which no span came. */
  orphan(service: number): void {
    (this.tallies[service] ??= new ServiceTally()).orphans += 1;
  }

  /** A request that one pod answers twice at once. */
  doubled(service: number): void {
    (this.tallies[service] ??= new ServiceTally()).doubled += 1;
  }

  /** A message. */
  sent(service: number): void {
    (this.tallies[service] ??= new ServiceTally()).sent += 1;
  }

  /** A message of `sender`, so long after it was sent. */
  handled(sender: number, service: number, afterNs: number): void {
    const { handled } = (this.tallies[sender] ??= new ServiceTally());
    const { count, waitSeconds } = handled.get(service) ?? { count: 0, waitSeconds: 0 };
    handled.set(service, { count: count + 1, waitSeconds: waitSeconds + afterNs / 1e9 });
  }

  /** What came of a service since the last window; undefined where nothing ever did. Services are numbers still. */
  seen(service: number): SeenSpans | undefined {
    return this.tallies[service];
  }

  /** Forgets a service whose number is given to another one. */
  forget(service: number): void {
    this.tallies[service] = new ServiceTally();
    this.refusedTotals.delete(service);
  }

  /**
   * @param isEntry of services by their numbers; undefined for services that do not matter
   * @returns time to wait for late spans, seconds
   */
  waitSeconds(
    { leastSeconds, mostOfOthersSeconds, mostSeconds }: WaitLimits,
    isEntry: (service: number) => boolean | undefined,
  ): number {
    const waits = { entries: leastSeconds, others: leastSeconds };
    this.tallies.forEach((tally, service) => {
      const delaySeconds = tally.delaySeconds(leastSeconds);
      // Nearly all of the last ones are within what is waited for anyway.
      if (delaySeconds === undefined || delaySeconds - STEP_SECONDS < leastSeconds) return;
      const isOfEntry = isEntry(service);
      if (isOfEntry === undefined) return;
      const of = isOfEntry ? "entries" : "others";
      waits[of] = Math.max(waits[of], delaySeconds + MARGIN_SECONDS);
    });
    const others = Math.min(waits.others, Math.max(mostOfOthersSeconds, waits.entries));
    return Math.min(mostSeconds, Math.max(waits.entries, others));
  }

  /**
   * @param graceSeconds for which windows wait now
   * @returns what of the service did not count since the last window, in words; undefined where it is no more than 2 %
   */
  missing(service: number, name: string, graceSeconds: number): string | undefined {
    const tally = this.tallies[service];
    if (tally === undefined) return undefined;
    const parts: string[] = [];
    const { late, refused, requests, spans } = tally;
    if (isOver(late, requests)) {
      const delaySeconds = tally.delaySeconds(graceSeconds);
      const isWaitedFor = delaySeconds === undefined || delaySeconds <= graceSeconds;
      const usual = isWaitedFor
        ? ""
        : `, ${delaySeconds} s after their end: --grace ${Math.ceil(delaySeconds + MARGIN_SECONDS)}s`;
      parts.push(`${late} of ${requests} requests of ${name} came after their window was built${usual}`);
    }
    const counts = [...refused.values()];
    const ofSpans = counts.reduce((sum, each) => sum + each.spans, spans);
    const ofRequests = counts.reduce((sum, each) => sum + each.requests, requests);
    for (const [reason, lost] of refused) {
      const words = WORDS[reason];
      if (words === undefined) continue;
      if (isOver(lost.requests, ofRequests))
        parts.push(`${lost.requests} of ${ofRequests} requests of ${name} ${words}`);
      else if (isOver(lost.spans, ofSpans))
        parts.push(`${lost.spans} of ${ofSpans} spans of ${name} ${words}`);
    }
    return parts.length === 0 ? undefined : parts.join("; ");
  }

  /** The next window begins. */
  next(): void {
    for (const tally of this.tallies) tally?.next();
  }
}

const isOver = (count: number, total: number): boolean =>
  count >= LEAST_LOST && count > TOLERATED_SHARE * total;
