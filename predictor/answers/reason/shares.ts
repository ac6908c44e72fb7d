import type { Call, Incident } from "./incident.ts";
import { read, UNUSUAL } from "./signals.ts";
import type { Reading, SignalName } from "./signals.ts";

/** A candidate with its signals judged. */
export interface Judged {
  readonly name: string;
  readonly isOutside: boolean;
  readonly readings: ReadonlyMap<SignalName, Reading>;
  /** What it adds to the trouble, and by which sign of it. */
  readonly excess: Excess;
}

/** What a service adds to the application's time and failures beyond what its callees add, since the onset. */
export interface Excess {
  /** Seconds of a request of the application, spent in the service itself. */
  readonly ownSeconds: number;
  /** The same on the network to it. */
  readonly transitSeconds: number;
  /** Failed requests that began with it, for each request of the application. */
  readonly failures: number;
  /** Of the callers that time their calls to it, the share whose calls got slower on the network, squared. */
  readonly transitCallers: number;
  /** The farthest that the network time of a call to it is from usual, in spreads. */
  readonly transitZ: number;
  /** Its failures may be those of what it calls: nobody counts these. */
  readonly isUntold: boolean;
}

interface Edge extends Pick<Call, "caller" | "callee"> {
  readonly told: number | undefined;
  /** Excess of the network time of a call, seconds: 0 where it is usual; undefined where nobody timed it. */
  readonly slower: number | undefined;
  readonly z: number;
  /** Of that, seconds for a call that the answers of the caller show. */
  readonly shown: number;
}

type Readings = ReadonlyMap<SignalName, Reading>;

type Growth = (reading: Reading | undefined) => number;

/** Change to the worse beyond chance, in the signal's unit; 0 otherwise. */
const worsened: Growth = (reading) =>
  reading?.baseline !== undefined && reading.z > UNUSUAL ? reading.value - reading.baseline : 0;

/** Judges every signal and attributes excess time and failures to the services they begin in. */
export function judge(incident: Incident): Judged[] {
  const { candidates, leastPast } = incident;
  const readings = new Map(
    candidates.map(({ name, series }): [string, Readings] => {
      const all = series.map((each) => read(each, leastPast)).filter((each) => each !== undefined);
      return [name, new Map(all.map((each) => [each.signal, each]))];
    }),
  );
  const edges = edgesOf(incident, readings);
  const from = groupBy(edges, ({ caller }) => caller);
  const to = groupBy(edges, ({ callee }) => callee);
  const entry = readings.get(incident.entry);
  const past = entry?.get("responseP95") ?? entry?.get("selfTimeP95");
  const growth = past !== undefined && past.baseline === undefined ? whole : worsened;
  return candidates.map(({ influence, isOutside = false, name }): Judged => {
    const own = readings.get(name) ?? new Map<SignalName, Reading>();
    const visits = perRequest(own, entry);
    const excess = excessOf({ name, own, from, to, readings, visits, weight: influence ?? visits, growth });
    return { name, isOutside, readings: own, excess };
  });
}

/** A process that waits for CPU takes up answers late: what it times is no network. */
const isStarved = (caller: Readings | undefined): boolean =>
  [caller?.get("cpuUtilisation"), caller?.get("throttledRatio")].some(
    (each) => each?.bin === "high" && each.z > UNUSUAL,
  );

/**
 * Calls with their network time. Where one time stands for the calls to several callees, it is the growth of the caller's answers that tells
 * them apart: as much of it is each one's as fits the calls that are made to it.
 */
function edgesOf({ calls, leastPast }: Incident, readings: ReadonlyMap<string, Readings>): Edge[] {
  const edges = calls.map(({ callee, caller, perRequest: told, transit }): Edge => {
    const reading = isStarved(readings.get(caller)) ? undefined : transit && read(transit, leastPast);
    const slower = reading && worsened(reading);
    return { caller, callee, told, slower, z: reading?.z ?? 0, shown: slower ?? 0 };
  });
  const alike = groupBy(
    edges.filter(({ slower = 0 }) => slower > 0),
    ({ caller, slower }) => `${caller}\n${slower}`,
  );
  return edges.map((edge) => {
    const group = alike.get(`${edge.caller}\n${edge.slower}`) ?? [];
    if (group.length < 2) return edge;
    const caller = readings.get(edge.caller);
    const made = (each: Edge): number => callsOf(each, readings.get(each.callee), caller) * each.shown;
    const { baseline, value = 0 } = caller?.get("responseP95") ?? {};
    const least = LEAST_GROWTH * Math.max(...group.map((each) => made(each)));
    const grown = baseline === undefined ? made(edge) : Math.max(value - baseline, least);
    const fit = (each: Edge): number =>
      baseline === undefined ? 1 : Math.min(made(each), grown) / Math.max(made(each), grown);
    const all = group.reduce((sum, each) => sum + fit(each), 0);
    const { callee, caller: from, slower, told, z } = edge;
    const shown = made(edge) > 0 ? (edge.shown * grown * fit(edge)) / (made(edge) * all) : edge.shown;
    return { caller: from, callee, told, slower, z, shown };
  });
}

function groupBy(edges: readonly Edge[], key: (edge: Edge) => string): Map<string, Edge[]> {
  const groups = new Map<string, Edge[]>();
  for (const edge of edges) {
    const group = groups.get(key(edge));
    if (group === undefined) groups.set(key(edge), [edge]);
    else group.push(edge);
  }
  return groups;
}

/** All of it: what counts while nothing is known of the past. */
const whole: Growth = (reading) => reading?.value ?? 0;

/** The usual rate: load that grew is no reason to suspect a service more. Undefined where it is not measured. */
function rateOf(readings: Readings | undefined): number | undefined {
  const rate = readings?.get("requestRate");
  return rate?.baseline ?? rate?.value;
}

/** What slower calls make of an answer shows in it by at least so much: those that run beside each other make it later by less than their sum. */
const LEAST_GROWTH = 0.1;

/** How often one is called for each request of another; once where nobody knows. */
function perRequest(callee: Readings | undefined, caller: Readings | undefined): number {
  const [rate, of] = [rateOf(callee), rateOf(caller)];
  return rate === undefined || of === undefined || of === 0 ? 1 : rate / of;
}

interface Place {
  readonly name: string;
  readonly own: Readings;
  readonly from: ReadonlyMap<string, readonly Edge[]>;
  readonly to: ReadonlyMap<string, readonly Edge[]>;
  readonly readings: ReadonlyMap<string, Readings>;
  readonly visits: number;
  readonly weight: number;
  /** What counts of a time. */
  readonly growth: Growth;
}

function excessOf(place: Place): Excess {
  const { from, name, own, readings, to, visits, weight } = place;
  const callees = from.get(name) ?? [];
  const timed = (to.get(name) ?? []).filter(({ slower }) => slower !== undefined);
  const slow = timed.filter(({ slower = 0 }) => slower > 0);
  const transit = slow.reduce(
    (sum, edge) => sum + partOf(edge, own, readings.get(edge.caller)) * edge.shown,
    0,
  );
  return {
    ownSeconds: weight * ownSeconds(place, callees),
    transitSeconds: weight * transit,
    failures: visits * ownFailures(own, callees, readings),
    transitCallers: timed.length === 0 ? 0 : (slow.length / timed.length) ** 2,
    transitZ: slow.reduce((most, { z }) => Math.max(most, z), 0),
    isUntold:
      callees.length > 0 && !callees.some(({ callee }) => readings.get(callee)?.has("errorRatio") === true),
  };
}

/** Calls of an edge for each request of its caller; at most one where nobody counted them. */
const callsOf = ({ told }: Edge, callee: Readings | undefined, caller: Readings | undefined): number =>
  told ?? Math.min(1, perRequest(callee, caller));

/** Share of the calls to a service that an edge makes. */
function partOf(edge: Edge, callee: Readings, caller: Readings | undefined): number {
  const all = perRequest(callee, caller);
  return all > 0 ? Math.min(1, callsOf(edge, callee, caller) / all) : 1;
}

/** As spans have it, which is free of callees; else the response time less what its callees and the calls to them grew by. */
function ownSeconds({ growth, own, readings }: Place, callees: readonly Edge[]): number {
  const self = own.get("selfTimeP95");
  if (self !== undefined) return growth(self);
  let seconds = growth(own.get("responseP95"));
  for (const edge of callees) {
    const theirs = readings.get(edge.callee);
    seconds -= callsOf(edge, theirs, own) * (growth(theirs?.get("responseP95")) + edge.shown);
  }
  return Math.max(0, seconds);
}

/** Its failed requests less those of its callees, which make its own fail; and requests in which it stops to call others. */
function ownFailures(
  own: Readings,
  callees: readonly Edge[],
  readings: ReadonlyMap<string, Readings>,
): number {
  let failures = worsened(own.get("errorRatio"));
  for (const { callee } of callees) {
    const theirs = readings.get(callee);
    failures -= worsened(theirs?.get("errorRatio")) * perRequest(theirs, own);
  }
  const calls = own.get("callsPerRequest");
  const stopped = calls?.baseline !== undefined && calls.z < -UNUSUAL ? 1 - calls.value / calls.baseline : 0;
  return Math.max(0, failures, stopped);
}
