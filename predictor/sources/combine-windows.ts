import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import type { ResourceView, ServiceResources } from "../window/resources.ts";

/** What the sources that are asked had to say about one interval. */
export interface Gathered {
  /** Windows that sources formed themselves, the most trusted first. */
  readonly sets: readonly WindowSet[];
  /** Resources read from metrics: they fill in for services that workloads and agents do not know. */
  readonly resources: ResourceView;
  /** Sources that could not be read: what only they would have told is missing. */
  readonly failed: readonly FailedSource[];
}

export interface FailedSource {
  /** As the configuration calls it. */
  readonly name: string;
  readonly kind: "spans" | "metrics";
  /** Absent where it could not be read. */
  readonly problem?: string | undefined;
}

/** What is known of the completeness of an interval's spans. */
export interface Doubts {
  /** What is missing of every service's spans, in words, one sentence each: what a peer received, what a standstill lost. */
  readonly missing: readonly string[];
  /** Services of which a source of spans told that did not fail. */
  readonly told: ReadonlySet<string>;
}

/** One view of both; what `first` knows of a service is not mixed with the other. */
export function combineResources(first: ResourceView, second: ResourceView): ResourceView {
  if (second.services.size === 0) return first;
  return { services: new Map<string, ServiceResources>([...second.services, ...first.services]) };
}

/**
 * Windows from spans and from metrics as one set. Where spans measured all requests of a service its window stays: measured
 * goes before derived. Else its traffic comes from the first metrics source that knows it. Where that is missing, too, what
 * was measured stays, since a measured miss is one whatever else there was, and the window says what is missing.
 */
export function combineWindows(spans: WindowSet, gathered: Gathered, doubts: Doubts): WindowSet {
  const { failed, sets } = gathered;
  const windows = new Map(spans.windows.map((window) => [key(window), doubted(window, failed, doubts)]));
  const measured = new Set<string>();
  for (const [name, { missing, requestsPerSecond = 0 }] of windows) {
    if (requestsPerSecond > 0 && missing === undefined) measured.add(name);
  }
  const isWhole = spans.flows.every(({ entryService }) => measured.has(entryService));
  const told = sets.flatMap((set) => set.windows);
  for (const window of told) {
    const name = key(window);
    if (measured.has(name) || window.missing !== undefined) continue;
    measured.add(name);
    const place = windows.get(name);
    windows.set(name, place === undefined ? window : { ...withoutTraffic(place), ...trafficOf(window) });
  }
  for (const { missing, ...window } of told) {
    const place = windows.get(key(window));
    // Of what runs nowhere nothing is missing.
    if (missing === undefined || place === undefined || measured.has(key(window))) continue;
    windows.set(key(window), { ...place, missing: joined([place.missing, missing]) });
  }
  const flowsOfMetrics = sets.find((set) => set.flows.length > 0)?.flows ?? [];
  const isOfSpans = spans.flows.length > 0 && (isWhole || flowsOfMetrics.length === 0);
  return {
    startMs: spans.startMs,
    endMs: spans.endMs,
    windows: [...windows.values()],
    flows: isOfSpans ? spans.flows : flowsOfMetrics,
  };
}

const MOST_WORDS = 500;
/** Of one part, so that two have room. */
const MOST_WORDS_OF_PART = 240;

const MOST_PARTS = 16;

/**
 * What is missing of the traffic of any service, each part once: sources that nobody needed are not among them, nor what others know whole.
 * @param spans windows of spans alone
 */
export function missingParts(
  { windows }: WindowSet,
  { failed, sets }: Pick<Gathered, "failed" | "sets">,
  missing: readonly string[],
  spans: Pick<WindowSet, "windows">,
): readonly string[] {
  const lacking = [...sets, spans].flatMap((set) => set.windows).flatMap((window) => window.missing ?? []);
  const needed = [...failed.map(wordsOf), ...lacking].filter((words) =>
    windows.some((window) => window.missing?.includes(words)),
  );
  return [...new Set([...missing, ...needed])].slice(0, MOST_PARTS);
}

function wordsOf({ name, problem }: FailedSource): string {
  return (problem ?? `the source '${name}' could not be read`).slice(0, MOST_WORDS_OF_PART);
}

function joined(words: readonly (string | undefined)[]): string {
  return words
    .filter((each) => each !== undefined)
    .join("; ")
    .slice(0, MOST_WORDS);
}

/** The window of the spans, with what is missing of them. */
function doubted(window: Window, failed: readonly FailedSource[], { missing, told }: Doubts): Window {
  const isTold = Number(window.requestsPerSecond) > 0 && told.has(window.service);
  const lacking = isTold ? [] : failed;
  const words = [window.missing, ...missing, ...lacking.map(wordsOf)].filter((each) => each !== undefined);
  return words.length === 0 ? window : { ...window, missing: joined(words) };
}

const key = ({ service }: Window): string => service;

const TRAFFIC = [
  "requestsPerSecond",
  "beganPerSecond",
  "errorRatio",
  "ownLatency",
  "ownLatencyDerived",
  "worstPodOwnLatency",
  "responseLatency",
  "inFlight",
  "ownInFlight",
  "callees",
  "unresolvedCallsPerSecond",
  "missing",
] as const satisfies readonly (keyof Window)[];

function trafficOf(window: Window): Partial<Window> {
  return Object.fromEntries(Object.entries(window).filter(([name]) => isTraffic(name)));
}

/** The window of the workload alone. */
export function withoutTraffic(window: Window): Window {
  const rest = Object.fromEntries(Object.entries(window).filter(([name]) => !isTraffic(name)));
  return { ...rest, callees: [] } as unknown as Window;
}

function isTraffic(name: string): boolean {
  return (TRAFFIC as readonly string[]).includes(name);
}
