import { PastIncident } from "@tradewind/core/contract/incident.ts";
import type { IncidentChange } from "@tradewind/core/contract/incident.ts";
import { EpochMs, NonNegative, ObjectName } from "@tradewind/core/contract/quantity.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { allocatedCpuCores, mainContainers } from "@tradewind/core/measure/main-containers.ts";
import { z } from "zod";
import { AccuracyState } from "./accuracy.ts";
import { Signs } from "./precedents.ts";

export const INCIDENTS_SCHEMA = "tradewind.dev/incidents/v1";

/** Incidents that are kept, the newest: about 300 KB. */
const MOST_INCIDENTS = 200;
/** Shorter ones say little, and there are many. */
const LEAST_WINDOWS = 3;
/** So many windows in a row that met the objective end one. */
const OVER = 5;
/** An incident of whose windows so many in a row are not known, or did not come, is over: five minutes of 15 s. */
const MOST_UNKNOWN_WINDOWS = 20;
/** Load that fell to less than this share of the mean of the incident is what ended it. */
const SAME_LOAD = 0.85;
/** A container's CPU that differs by less is the same. */
const SAME_CPU = 0.01;
const MOST_CHANGES = 64;

/** A past incident with what was unusual in it. */
export const KeptIncident = PastIncident.extend({ signs: Signs });
export type KeptIncident = z.infer<typeof KeptIncident>;

const Size = z.strictObject({ replicas: NonNegative, cpuCores: NonNegative.optional() });

/** An incident that goes on. */
const OpenIncident = z.strictObject({
  onsetMs: EpochMs,
  lastMissedMs: EpochMs,
  windows: NonNegative,
  metWindows: NonNegative,
  worstRatio: NonNegative,
  /** Sum of the load of its windows, and how many had one. */
  load: NonNegative,
  loadWindows: NonNegative,
  sizes: z.record(z.string().max(200), Size),
  cause: PastIncident.shape.cause,
  patterns: PastIncident.shape.patterns,
  signs: Signs,
});

/** Past incidents of one application, and the one that goes on: kept on disk. */
export const IncidentState = z.strictObject({
  schema: z.literal(INCIDENTS_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  /** Oldest first. */
  incidents: z.array(KeptIncident).max(MOST_INCIDENTS),
  open: OpenIncident.optional(),
  /** Absent in what earlier releases wrote. */
  accuracy: AccuracyState.optional(),
});
export type IncidentState = z.infer<typeof IncidentState>;

export const emptyIncidents = (application: string, namespace: string): IncidentState => ({
  schema: INCIDENTS_SCHEMA,
  application,
  namespace,
  incidents: [],
});

/** A window as the log of incidents sees it. */
export interface LoggedWindow {
  readonly startMs: number;
  readonly endMs: number;
  /** Latency of the slowest route over its objective; undefined where it is not known. */
  readonly severity: number | undefined;
  /** Requests per second of the application. */
  readonly load: number | undefined;
  readonly windows: readonly Window[];
  /** What an explanation of this window says; absent where none was made. */
  readonly told?: Pick<KeptIncident, "cause" | "patterns" | "signs"> | undefined;
}

/**
 * The state after one more window: an incident begins, goes on, or ends. What is not known changes nothing, for so long: after that the incident
 * has ended with its last miss, and nobody knows by what.
 */
export function withWindow(before: IncidentState, window: LoggedWindow): IncidentState {
  const state = withoutOld(before, window);
  const { endMs, load = 0, severity, startMs, told, windows } = window;
  const { open } = state;
  if (severity === undefined) return state;
  if (severity > 1) {
    const isWorst = open === undefined || severity >= open.worstRatio;
    const known = open ?? { ...begun(startMs), sizes: sizesOf(windows) };
    return {
      ...state,
      open: {
        ...known,
        lastMissedMs: endMs,
        windows: known.windows + 1,
        metWindows: 0,
        worstRatio: Math.max(known.worstRatio, severity),
        load: known.load + load,
        loadWindows: known.loadWindows + (load > 0 ? 1 : 0),
        ...(told !== undefined && (isWorst || Object.keys(known.signs).length === 0) && told),
      },
    };
  }
  if (open === undefined) return state;
  if (open.metWindows + 1 < OVER) return { ...state, open: { ...open, metWindows: open.metWindows + 1 } };
  const { open: _, ...rest } = state;
  if (open.windows < LEAST_WINDOWS) return rest;
  return { ...rest, incidents: [...state.incidents, ended(open, window)].slice(-MOST_INCIDENTS) };
}

type Open = z.infer<typeof OpenIncident>;

function withoutOld(state: IncidentState, window: LoggedWindow): IncidentState {
  const { open, ...rest } = state;
  const mostMs = MOST_UNKNOWN_WINDOWS * (window.endMs - window.startMs);
  if (open === undefined || window.startMs - open.lastMissedMs <= mostMs) return state;
  if (open.windows < LEAST_WINDOWS) return rest;
  const unknown = { ...window, load: undefined, windows: [] };
  return { ...rest, incidents: [...state.incidents, ended(open, unknown)].slice(-MOST_INCIDENTS) };
}

const begun = (onsetMs: number): Omit<Open, "sizes"> => ({
  onsetMs,
  lastMissedMs: onsetMs,
  windows: 0,
  metWindows: 0,
  worstRatio: 0,
  load: 0,
  loadWindows: 0,
  patterns: [],
  signs: {},
});

function ended(open: Open, { load, windows }: LoggedWindow): KeptIncident {
  const { cause, lastMissedMs, onsetMs, patterns, signs, worstRatio } = open;
  const changes = changesSince(open.sizes, sizesOf(windows));
  const mean = open.load / Math.max(1, open.loadWindows);
  const fell = load !== undefined && load < SAME_LOAD * mean;
  const grew = changes.some(({ from, to }) => to > from);
  return {
    onsetMs,
    endMs: lastMissedMs,
    worstRatio,
    ...(cause && { cause }),
    patterns,
    changes,
    ended: fell ? "load" : grew ? "growth" : "neither",
    signs,
  };
}

/** What serves of each service. */
export type SizesByService = Readonly<Record<string, z.infer<typeof Size>>>;

/** What serves of each service; the largest of its containers. */
export function sizesOf(windows: readonly Window[]): SizesByService {
  return Object.fromEntries(
    windows.flatMap((window) => {
      const { replicasReady, service } = window;
      if (replicasReady === undefined) return [];
      const cores = mainContainers(window).flatMap((each) => allocatedCpuCores(each) ?? []);
      return [
        [service, { replicas: replicasReady, ...(cores.length > 0 && { cpuCores: Math.max(...cores) }) }],
      ];
    }),
  );
}

/** Sizes that differ, those that grew most first. */
export function changesSince(before: SizesByService, after: SizesByService): IncidentChange[] {
  const changes: IncidentChange[] = [];
  for (const [service, { cpuCores: from, replicas }] of Object.entries(before)) {
    const is = after[service];
    if (is === undefined) continue;
    if (is.replicas !== replicas)
      changes.push({ service, resource: "replicas", from: replicas, to: is.replicas });
    const { cpuCores: to } = is;
    if (from !== undefined && to !== undefined && Math.abs(to - from) > SAME_CPU * from)
      changes.push({ service, resource: "cpu", from, to });
  }
  const growth = ({ from, to }: IncidentChange): number => to / Math.max(from, 1e-3);
  return changes.toSorted((a, b) => growth(b) - growth(a)).slice(0, MOST_CHANGES);
}
