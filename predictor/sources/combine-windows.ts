import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import type { ResourceView, ServiceResources } from "../window/resources.ts";

/** What the sources that are asked had to say about one interval. */
export interface Gathered {
  /** Windows that sources formed themselves, the most trusted first. */
  readonly sets: readonly WindowSet[];
  /** Resources read from metrics: they fill in for services that workloads and agents do not know. */
  readonly resources: ResourceView;
  /** A source of traces could not be read: what the spans say of this interval is a part of unknown size. */
  readonly spansIncomplete: boolean;
  /** A source of metrics could not be read: a service without spans may well have had requests. */
  readonly metricsIncomplete: boolean;
}

/** One view of both; what `first` knows of a service is not mixed with the other. */
export function combineResources(first: ResourceView, second: ResourceView): ResourceView {
  if (second.services.size === 0) return first;
  return { services: new Map<string, ServiceResources>([...second.services, ...first.services]) };
}

/**
 * Windows from spans and from metrics as one set. Where spans measured a service its window stays: measured goes before
 * derived. Else its traffic comes from the first metrics source that knows it. Where a source failed, no service is
 * taken to be idle because nobody spoke of it.
 */
export function combineWindows(spans: WindowSet, gathered: Gathered): WindowSet {
  const { sets, spansIncomplete, metricsIncomplete } = gathered;
  const windows = new Map(spans.windows.map((window) => [key(window), window]));
  const measured = new Set<string>();
  for (const [name, window] of windows) {
    if (spansIncomplete || (metricsIncomplete && !(Number(window.requestsPerSecond) > 0))) {
      windows.set(name, withoutTraffic(window));
    } else if (Number(window.requestsPerSecond) > 0) measured.add(name);
  }
  for (const window of sets.flatMap((set) => set.windows)) {
    const name = key(window);
    if (measured.has(name)) continue;
    measured.add(name);
    const place = windows.get(name);
    windows.set(name, place === undefined ? window : { ...withoutTraffic(place), ...trafficOf(window) });
  }
  const flows = spansIncomplete ? [] : spans.flows;
  return {
    startMs: spans.startMs,
    endMs: spans.endMs,
    windows: [...windows.values()],
    flows: flows.length > 0 ? flows : (sets.find((set) => set.flows.length > 0)?.flows ?? []),
  };
}

const key = ({ service }: Window): string => service;

const TRAFFIC = [
  "requestsPerSecond",
  "beganPerSecond",
  "errorRatio",
  "ownLatency",
  "ownLatencyDerived",
  "responseLatency",
  "inFlight",
  "ownInFlight",
  "callees",
] as const satisfies readonly (keyof Window)[];

function trafficOf(window: Window): Partial<Window> {
  return Object.fromEntries(Object.entries(window).filter(([name]) => isTraffic(name)));
}

function withoutTraffic(window: Window): Window {
  const rest = Object.fromEntries(Object.entries(window).filter(([name]) => !isTraffic(name)));
  return { ...rest, callees: [] } as unknown as Window;
}

function isTraffic(name: string): boolean {
  return (TRAFFIC as readonly string[]).includes(name);
}
