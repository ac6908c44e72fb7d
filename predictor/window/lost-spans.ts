import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { mean } from "@tradewind/core/values/statistics.ts";

/** What came of one service's spans, besides its windows. */
export interface SpanEvidence {
  /** Requests with a caller whose span came, and whose did not. */
  readonly called: number;
  readonly callerLost: number;
  /** Spans, and those of them within a request of which no span came. */
  readonly spans: number;
  readonly orphans: number;
  /** Requests that one pod answered twice at once. */
  readonly doubled: number;
  /** Requests by the pod that answered. */
  readonly pods: ReadonlyMap<string, number>;
}

/** A share of the requests that is not counted is named from here on, as elsewhere. */
const TOLERATED_SHARE = 0.02;
/** Standard deviations beyond which a change is none of chance. */
const BEYOND_CHANCE = 4;
/** A single one may be anything. */
const LEAST_LOST = 3;
/** What is usual goes by about ten windows, and is known after so many. */
const LEARNING_RATE = 0.1;
const LEAST_WINDOWS = 3;
/** What is said for so long, in windows, is how it is from now on: an hour of 15 s. */
const MOST_WINDOWS_SAID = 240;
/** Calls without an answer and those that lack come to the same, within these factors. */
const LEAST_MATCH = 0.6;
const MOST_MATCH = 1.6;
/** Requests that a pod would have answered, below which silence is chance. */
const TELLING_REQUESTS = 20;
/** Share of the other pods' CPU that a pod at work uses. */
const WORKING_SHARE = 0.5;
const MOST_SERVICES = 5_000;
const MOST_OF_SERVICE = 200;
const MOST_NAMED = 3;
const MOST_WORDS = 240;

/** A number that differs from window to window: what it usually is, and by how much it differs. */
class Usual {
  mean = 0;
  variance = 0;
  windows = 0;

  learn(value: number): void {
    this.windows += 1;
    const rate = Math.max(LEARNING_RATE, 1 / this.windows);
    const difference = value - this.mean;
    this.mean += rate * difference;
    this.variance = (1 - rate) * (this.variance + rate * difference * difference);
  }

  get isKnown(): boolean {
    return this.windows >= LEAST_WINDOWS;
  }
}

/** What is usual of one service. */
class Habits {
  readonly callerLost = new Usual();
  readonly orphans = new Usual();
  readonly doubled = new Usual();
  readonly unresolved = new Usual();
  /** Calls to each callee by a request of this service. */
  readonly calls = new Map<string, Usual>();
  /** Share of the requests that each pod answers. */
  readonly pods = new Map<string, Usual>();
  readonly callers = new Set<string>();
  windowsSaid = 0;
}

/**
 * Finds the services of which spans are lost by what the spans of others tell: callers and callees that used to come and do not, calls that
 * used to be answered, pods at work that fell silent. Only a change is found; what was so from the beginning is how an application is
 * traced. Pure: no clock, no I/O; bounded.
 */
export class LostSpans {
  private readonly habits = new Map<string, Habits>();

  /** The set, with what is missing of services whose spans are lost. */
  look(set: WindowSet, evidence: ReadonlyMap<string, SpanEvidence>): WindowSet {
    const words = new Map<string, string>();
    const say = (service: string, text: string): void => {
      if (!words.has(service)) words.set(service, text.slice(0, MOST_WORDS));
    };
    for (const window of set.windows) {
      const own = evidence.get(window.service);
      const habits = this.habits.get(window.service);
      if (own === undefined || habits === undefined || window.missing !== undefined) continue;
      lookAtCallers(window, own, habits, say);
      lookAtOrphans(window, own, habits, say);
      lookAtDoubles(window, own, habits, say);
      lookAtAnswers(window, habits, say);
      lookAtPods(window, own, habits, say);
    }
    this.learn(set, evidence, words.size > 0);
    if (words.size === 0) return set;
    const windows = set.windows.map((window) => {
      const missing = window.missing ?? words.get(window.service);
      return missing === undefined ? window : { ...window, missing };
    });
    return { ...set, windows };
  }

  /** Windows of which something is missing do not tell what is usual, unless it stays so. */
  private learn(set: WindowSet, evidence: ReadonlyMap<string, SpanEvidence>, isSaid: boolean): void {
    for (const window of set.windows) {
      const own = evidence.get(window.service);
      const habits = own === undefined ? undefined : this.habitsOf(window.service);
      if (own === undefined || habits === undefined) continue;
      habits.windowsSaid = isSaid || window.missing !== undefined ? habits.windowsSaid + 1 : 0;
      if (habits.windowsSaid > 0 && habits.windowsSaid < MOST_WINDOWS_SAID) continue;
      learnService(window, own, habits);
      for (const { callee } of window.callees) this.noteCaller(callee, window.service);
    }
  }

  private noteCaller(callee: string, caller: string): void {
    const callers = this.habitsOf(callee)?.callers;
    if (callers !== undefined && callers.size < MOST_OF_SERVICE) callers.add(caller);
  }

  private habitsOf(service: string): Habits | undefined {
    const known = this.habits.get(service);
    if (known !== undefined || this.habits.size >= MOST_SERVICES) return known;
    const made = new Habits();
    this.habits.set(service, made);
    return made;
  }
}

type Say = (service: string, text: string) => void;

function lookAtCallers(
  { service }: Window,
  own: SpanEvidence,
  { callerLost, callers }: Habits,
  say: Say,
): void {
  const total = own.called + own.callerLost;
  if (!isMore(own.callerLost, total, callerLost)) return;
  const names = [...callers].filter((name) => name !== service).slice(0, MOST_NAMED);
  const whose = names.length === 0 ? "its callers" : names.join(" or ");
  const text = `${own.callerLost} of ${total} requests of ${service} came without the spans of their callers: spans of ${whose} are lost`;
  for (const name of names.length === 0 ? [service] : names) say(name, text);
}

function lookAtOrphans({ service }: Window, own: SpanEvidence, { orphans }: Habits, say: Say): void {
  if (!isMore(own.orphans, own.spans, orphans)) return;
  say(
    service,
    `${own.orphans} of ${own.spans} spans of ${service} lack the spans above them: spans of ${service} are lost`,
  );
}

function lookAtDoubles({ service }: Window, own: SpanEvidence, { doubled }: Habits, say: Say): void {
  const total = own.called + own.callerLost;
  if (!isMore(own.doubled, total, doubled)) return;
  say(
    service,
    `${own.doubled} of ${total} requests of ${service} have two spans at once, which their pod names: something measures it twice`,
  );
}

/** As many calls of the service are without an answer, beyond what is usual, as one of those it calls lacks. */
function lookAtAnswers(window: Window, { calls, unresolved }: Habits, say: Say): void {
  const requests = countIn(window, window.requestsPerSecond);
  if (requests === 0 || !unresolved.isKnown) return;
  const more = countIn(window, window.unresolvedCallsPerSecond) - unresolved.mean * requests;
  if (!(more > bound(requests, unresolved))) return;
  for (const [callee, usual] of calls) {
    if (!usual.isKnown) continue;
    const edge = window.callees.find((each) => each.callee === callee);
    const expected = usual.mean * requests;
    const lacking = expected - countIn(window, edge?.callsPerSecond);
    if (!(lacking > Math.max(TOLERATED_SHARE * expected, bound(requests, usual)))) continue;
    if (more < LEAST_MATCH * lacking || more > MOST_MATCH * lacking) continue;
    const [lost, of] = [Math.round(lacking), Math.round(expected)];
    say(
      callee,
      `${lost} of ${of} calls of ${window.service} to ${callee} have no answer: spans of ${callee} are lost`,
    );
  }
}

/** A pod that answered its share of the requests, and works as the others do, sends nothing. */
function lookAtPods(window: Window, own: SpanEvidence, { pods }: Habits, say: Say): void {
  if (own.pods.size === 0) return;
  const requests = countIn(window, window.requestsPerSecond);
  for (const [podName, share] of pods) {
    if (own.pods.has(podName) || !share.isKnown || share.mean * requests < TELLING_REQUESTS) continue;
    const main = window.containers.filter(({ sidecar }) => sidecar !== true);
    const used = main.find((container) => container.podName === podName)?.cpuUsageCores;
    const others = main.filter((container) => own.pods.has(container.podName ?? ""));
    const usual = mean(others.flatMap(({ cpuUsageCores }) => cpuUsageCores ?? []));
    if (used === undefined || !(used >= WORKING_SHARE * usual)) continue;
    say(
      window.service,
      `no span came of ${podName}, which works as before: spans of ${window.service} are lost`,
    );
  }
}

function learnService(window: Window, own: SpanEvidence, habits: Habits): void {
  const total = own.called + own.callerLost;
  if (total > 0) habits.callerLost.learn(own.callerLost / total);
  if (total > 0) habits.doubled.learn(own.doubled / total);
  if (own.spans > 0) habits.orphans.learn(own.orphans / own.spans);
  const requests = countIn(window, window.requestsPerSecond);
  if (requests === 0) return;
  habits.unresolved.learn(countIn(window, window.unresolvedCallsPerSecond) / requests);
  const edges = new Map(window.callees.map(({ callee, callsPerSecond }) => [callee, callsPerSecond]));
  for (const callee of new Set([...habits.calls.keys(), ...edges.keys()])) {
    if (!habits.calls.has(callee) && habits.calls.size >= MOST_OF_SERVICE) continue;
    const usual = habits.calls.get(callee) ?? new Usual();
    habits.calls.set(callee, usual);
    usual.learn(countIn(window, edges.get(callee)) / requests);
  }
  learnPods(own.pods, habits.pods, requests);
}

function learnPods(counts: SpanEvidence["pods"], pods: Habits["pods"], requests: number): void {
  for (const [podName, share] of pods) {
    if (counts.has(podName)) continue;
    share.learn(0);
    if (share.mean * requests < 1) pods.delete(podName);
  }
  for (const [podName, count] of counts) {
    if (!pods.has(podName) && pods.size >= MOST_OF_SERVICE) continue;
    const share = pods.get(podName) ?? new Usual();
    pods.set(podName, share);
    share.learn(count / requests);
  }
}

/** Whether a share is larger than it usually is, by more than chance and by enough to matter. */
function isMore(count: number, total: number, { isKnown, mean: usual, variance }: Usual): boolean {
  if (!isKnown || count < LEAST_LOST) return false;
  const chance = Math.sqrt(Math.max(total * usual * (1 - usual), total * total * variance));
  return count - usual * total > Math.max(TOLERATED_SHARE * total, LEAST_LOST, BEYOND_CHANCE * chance);
}

/** By how many a count of so many requests may differ from what is usual. */
const bound = (requests: number, { variance }: Usual): number =>
  Math.max(LEAST_LOST, BEYOND_CHANCE * Math.sqrt(variance) * requests);

const countIn = ({ endMs, startMs }: Window, perSecond = 0): number => (perSecond * (endMs - startMs)) / 1e3;
