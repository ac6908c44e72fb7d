import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { mean } from "@tradewind/core/values/statistics.ts";

/** Messages that were handled, and from being sent until then in all, s. */
export interface HandledMessages {
  readonly count: number;
  readonly waitSeconds: number;
}

/** What one service's spans show of lost ones, besides its window. */
export interface SpanEvidence {
  /** Requests with a caller whose span came, and whose did not. */
  readonly called: number;
  readonly callerLost: number;
  /** Spans, and those of them within a request of which no span came. */
  readonly spans: number;
  readonly orphans: number;
  /** Requests that one pod answered twice at once. */
  readonly doubled: number;
  /** Messages, and those of them that a service is known to have handled. */
  readonly sent: number;
  readonly handled: ReadonlyMap<string, HandledMessages>;
  /** Requests by the pod that answered. */
  readonly pods: ReadonlyMap<string, number>;
}

/** Smaller shares of the requests may be lost without a word, as those that come late may. */
const TOLERATED_SHARE = 0.02;
/** Standard deviations beyond which a change is not chance. */
const BEYOND_CHANCE = 4;
/** Fewer may be chance. */
const LEAST_LOST = 3;
/** What is usual is a mean over about ten windows, and is known after three. */
const LEARNING_RATE = 0.1;
const LEAST_WINDOWS = 3;
/** Windows after which a loss that is reported in each of them becomes usual: an hour of 15 s. */
const MOST_WINDOWS_REPORTED = 240;
/** Calls without an answer are those that a callee lacks, where the two counts agree within these factors. */
const LEAST_MATCH = 0.6;
const MOST_MATCH = 1.6;
/** A pod that would have answered fewer requests may be silent by chance. */
const TELLING_REQUESTS = 20;
/** Share of the other pods' CPU that a pod at work uses. */
const WORKING_SHARE = 0.5;
/** Where fewer of the messages are handled at once than that share of the usual ones, or this much later, they wait in a queue. */
const LEAST_HANDLED = 0.3;
const QUEUED_SECONDS = 1;
const MOST_SERVICES = 5_000;
const MOST_OF_SERVICE = 200;
const MOST_CALLERS_NAMED = 3;
const MOST_CHARACTERS = 240;

/** Mean and variance of a number over the last windows. */
class UsualValue {
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

/** What is usual for one service. */
class Habits {
  readonly callerLost = new UsualValue();
  readonly orphans = new UsualValue();
  readonly doubled = new UsualValue();
  readonly unresolved = new UsualValue();
  /** Calls to each callee by a request of this service. */
  readonly calls = new Map<string, UsualValue>();
  /** Messages that each service handles of one that is sent, and how long after, s. */
  readonly handled = new Map<string, { readonly share: UsualValue; readonly waitSeconds: UsualValue }>();
  /** Share of the requests that each pod answers. */
  readonly pods = new Map<string, UsualValue>();
  readonly callers = new Set<string>();
  windowsReported = 0;
}

/**
 * Finds services whose spans are lost: callers whose spans stop coming, calls that are no longer answered, pods that work and fall
 * silent. Only a change is found; what was so from the beginning is how an application is traced.
 */
export class LostSpans {
  private readonly habits = new Map<string, Habits>();

  /** The set, with what is missing of services whose spans are lost. */
  look(set: WindowSet, evidence: ReadonlyMap<string, SpanEvidence>): WindowSet {
    const losses = new Map<string, string>();
    const report = (service: string, text: string): void => {
      if (!losses.has(service)) losses.set(service, text.slice(0, MOST_CHARACTERS));
    };
    for (const window of set.windows) {
      const own = evidence.get(window.service);
      const habits = this.habits.get(window.service);
      if (own === undefined || habits === undefined || window.missing !== undefined) continue;
      lookAtCallers(window, own, habits, report);
      lookAtOrphans(window, own, habits, report);
      lookAtDoubles(window, own, habits, report);
      lookAtAnswers(window, habits, report);
      lookAtMessages(window, own, habits, report);
      lookAtPods(window, own, habits, report);
    }
    this.learn(set, evidence, losses.size > 0);
    if (losses.size === 0) return set;
    const windows = set.windows.map((window) => {
      const missing = window.missing ?? losses.get(window.service);
      return missing === undefined ? window : { ...window, missing };
    });
    return { ...set, windows };
  }

  /** Windows in which something is missing do not count as usual, unless it stays missing. */
  private learn(set: WindowSet, evidence: ReadonlyMap<string, SpanEvidence>, isReported: boolean): void {
    for (const window of set.windows) {
      const own = evidence.get(window.service);
      const habits = own === undefined ? undefined : this.habitsOf(window.service);
      if (own === undefined || habits === undefined) continue;
      habits.windowsReported = isReported || window.missing !== undefined ? habits.windowsReported + 1 : 0;
      if (habits.windowsReported > 0 && habits.windowsReported < MOST_WINDOWS_REPORTED) continue;
      learnService(window, own, habits);
      for (const { callee } of window.callees) this.noteCaller(callee, window.service);
    }
  }

  private noteCaller(callee: string, caller: string): void {
    const callers = this.habitsOf(callee)?.callers;
    if (callers !== undefined && callers.size < MOST_OF_SERVICE) callers.add(caller);
  }

  private habitsOf(service: string): Habits | undefined {
    let habits = this.habits.get(service);
    if (habits === undefined && this.habits.size < MOST_SERVICES) {
      habits = new Habits();
      this.habits.set(service, habits);
    }
    return habits;
  }
}

type Report = (service: string, text: string) => void;

function lookAtCallers(
  { service }: Window,
  own: SpanEvidence,
  { callerLost, callers }: Habits,
  report: Report,
): void {
  const total = own.called + own.callerLost;
  if (!isMore(own.callerLost, total, callerLost)) return;
  const names = [...callers].filter((name) => name !== service).slice(0, MOST_CALLERS_NAMED);
  const whose = names.length === 0 ? "its callers" : names.join(" or ");
  const text = `${own.callerLost} of ${total} requests of ${service} came without the spans of their callers: spans of ${whose} are lost`;
  for (const name of names.length === 0 ? [service] : names) report(name, text);
}

function lookAtOrphans({ service }: Window, own: SpanEvidence, { orphans }: Habits, report: Report): void {
  if (!isMore(own.orphans, own.spans, orphans)) return;
  report(
    service,
    `${own.orphans} of ${own.spans} spans of ${service} lack the spans above them: spans of ${service} are lost`,
  );
}

function lookAtDoubles({ service }: Window, own: SpanEvidence, { doubled }: Habits, report: Report): void {
  const total = own.called + own.callerLost;
  if (!isMore(own.doubled, total, doubled)) return;
  report(
    service,
    `${own.doubled} of ${total} requests of ${service} have two spans at once, which their pod names: something measures it twice`,
  );
}

/** More calls of the service than usual have no answer, and one of its callees lacks as many. */
function lookAtAnswers(window: Window, { calls, unresolved }: Habits, report: Report): void {
  const requests = countIn(window, window.requestsPerSecond);
  if (requests === 0 || !unresolved.isKnown) return;
  const more = countIn(window, window.unresolvedCallsPerSecond) - unresolved.mean * requests;
  if (!(more > bound(requests, unresolved))) return;
  for (const [callee, usual] of calls) {
    if (!usual.isKnown) continue;
    const edge = window.callees.find((called) => called.callee === callee);
    const expected = usual.mean * requests;
    const lacking = expected - countIn(window, edge?.callsPerSecond);
    if (!(lacking > Math.max(TOLERATED_SHARE * expected, bound(requests, usual)))) continue;
    if (more < LEAST_MATCH * lacking || more > MOST_MATCH * lacking) continue;
    report(
      callee,
      `${Math.round(lacking)} of ${Math.round(expected)} calls of ${window.service} to ${callee} have no answer: spans of ${callee} are lost`,
    );
  }
}

/** Fewer messages than usual are known to be handled, and those that are come no later. */
function lookAtMessages(
  { service }: Window,
  { handled, sent }: SpanEvidence,
  habits: Habits,
  report: Report,
): void {
  for (const [handler, usual] of habits.handled) {
    const expected = usual.share.mean * sent;
    const { count, waitSeconds } = handled.get(handler) ?? { count: 0, waitSeconds: 0 };
    const lacking = expected - count;
    if (!usual.share.isKnown || count < LEAST_HANDLED * expected) continue;
    const chance = BEYOND_CHANCE * Math.sqrt(expected * Math.max(0, 1 - usual.share.mean));
    if (!(lacking > Math.max(TOLERATED_SHARE * expected, chance, bound(sent, usual.share)))) continue;
    if (waitSeconds / count > usual.waitSeconds.mean + QUEUED_SECONDS) continue;
    report(
      handler,
      `${Math.round(lacking)} of ${Math.round(expected)} messages of ${service} were not handled: spans of ${handler} are lost`,
    );
  }
}

/** A pod that used to answer its share of the requests, and works as the others do, sends nothing. */
function lookAtPods(window: Window, own: SpanEvidence, { pods }: Habits, report: Report): void {
  if (own.pods.size === 0) return;
  const requests = countIn(window, window.requestsPerSecond);
  for (const [podName, share] of pods) {
    if (own.pods.has(podName) || !share.isKnown || share.mean * requests < TELLING_REQUESTS) continue;
    const main = window.containers.filter(({ sidecar }) => sidecar !== true);
    const used = main.find((container) => container.podName === podName)?.cpuUsageCores;
    const others = main.filter((container) => own.pods.has(container.podName ?? ""));
    const usual = mean(others.flatMap(({ cpuUsageCores }) => cpuUsageCores ?? []));
    if (used === undefined || !(used >= WORKING_SHARE * usual)) continue;
    report(
      window.service,
      `no span came of ${podName}, which works as before: spans of ${window.service} are lost`,
    );
  }
}

function learnService(window: Window, own: SpanEvidence, habits: Habits): void {
  const total = own.called + own.callerLost;
  if (total > 0) habits.callerLost.learn(own.callerLost / total);
  if (total > 0) habits.doubled.learn(own.doubled / total);
  learnMessages(own, habits);
  if (own.spans > 0) habits.orphans.learn(own.orphans / own.spans);
  const requests = countIn(window, window.requestsPerSecond);
  if (requests === 0) return;
  habits.unresolved.learn(countIn(window, window.unresolvedCallsPerSecond) / requests);
  const edges = new Map(window.callees.map(({ callee, callsPerSecond }) => [callee, callsPerSecond]));
  for (const callee of new Set([...habits.calls.keys(), ...edges.keys()])) {
    if (!habits.calls.has(callee) && habits.calls.size >= MOST_OF_SERVICE) continue;
    const usual = habits.calls.get(callee) ?? new UsualValue();
    habits.calls.set(callee, usual);
    usual.learn(countIn(window, edges.get(callee)) / requests);
  }
  learnPods(own.pods, habits.pods, requests);
}

function learnMessages({ handled, sent }: SpanEvidence, habits: Habits): void {
  if (sent === 0) return;
  for (const handler of new Set([...habits.handled.keys(), ...handled.keys()])) {
    const { count, waitSeconds } = handled.get(handler) ?? { count: 0, waitSeconds: 0 };
    let usual = habits.handled.get(handler);
    if (usual === undefined && habits.handled.size < MOST_OF_SERVICE) {
      usual = { share: new UsualValue(), waitSeconds: new UsualValue() };
      habits.handled.set(handler, usual);
    }
    usual?.share.learn(count / sent);
    if (count > 0) usual?.waitSeconds.learn(waitSeconds / count);
  }
}

function learnPods(counts: SpanEvidence["pods"], shares: Habits["pods"], requests: number): void {
  let answering = 0;
  for (const [podName, share] of shares) {
    const count = counts.get(podName);
    share.learn((count ?? 0) / requests);
    if (count !== undefined) answering += 1;
    else if (share.mean * requests < 1) shares.delete(podName);
  }
  if (answering === counts.size) return;
  for (const [podName, count] of counts) {
    if (shares.has(podName) || shares.size >= MOST_OF_SERVICE) continue;
    const share = new UsualValue();
    share.learn(count / requests);
    shares.set(podName, share);
  }
}

/** Whether a share is larger than it usually is, by more than chance and by enough to matter. */
function isMore(count: number, total: number, { isKnown, mean: usual, variance }: UsualValue): boolean {
  if (!isKnown || count < LEAST_LOST) return false;
  const chance = Math.sqrt(Math.max(total * usual * (1 - usual), total * total * variance));
  return count - usual * total > Math.max(TOLERATED_SHARE * total, LEAST_LOST, BEYOND_CHANCE * chance);
}

/** By how much a count among these requests may differ from the usual one. */
const bound = (requests: number, { variance }: UsualValue): number =>
  Math.max(LEAST_LOST, BEYOND_CHANCE * Math.sqrt(variance) * requests);

const countIn = ({ endMs, startMs }: Window, perSecond = 0): number => (perSecond * (endMs - startMs)) / 1e3;
