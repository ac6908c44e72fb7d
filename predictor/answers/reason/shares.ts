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
  /** Share of the calls to it, by caller, that got slower on the network. */
  readonly transitCallers: number;
}

interface Edge extends Pick<Call, "caller" | "callee"> {
  readonly told: number | undefined;
  /** Excess of the network time, seconds; 0 where it is usual or not known. */
  readonly slower: number;
}

type Readings = ReadonlyMap<SignalName, Reading>;

type Growth = (reading: Reading | undefined) => number;

/** Change to the worse beyond chance, in the signal's unit; 0 otherwise. */
const worsened: Growth = (reading) =>
  reading?.baseline !== undefined && reading.z > UNUSUAL ? reading.value - reading.baseline : 0;

/** Judges every signal and attributes excess time and failures to the services they begin in. */
export function judge(incident: Incident): Judged[] {
  const { calls, candidates, leastPast } = incident;
  const readings = new Map(
    candidates.map(({ name, series }): [string, Readings] => {
      const all = series.map((each) => read(each, leastPast)).filter((each) => each !== undefined);
      return [name, new Map(all.map((each) => [each.signal, each]))];
    }),
  );
  const edges = calls.map(({ callee, caller, perRequest: told, transit }): Edge => ({
    caller,
    callee,
    told,
    slower: worsened(transit && read(transit, leastPast)),
  }));
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
  const callers = to.get(name) ?? [];
  const slow = callers.filter(({ slower }) => slower > 0);
  const transit = slow.length === 0 ? 0 : slow.reduce((sum, { slower }) => sum + slower, 0) / slow.length;
  return {
    ownSeconds: weight * ownSeconds(place, callees),
    transitSeconds: weight * transit,
    failures: visits * ownFailures(own, callees, readings),
    transitCallers: callers.length === 0 ? 0 : (slow.length / callers.length) ** 2,
  };
}

/** As spans have it, which is free of callees; else the response time less what its callees grew by. */
function ownSeconds({ growth, own, readings }: Place, callees: readonly Edge[]): number {
  const self = own.get("selfTimeP95");
  if (self !== undefined) return growth(self);
  let seconds = growth(own.get("responseP95"));
  for (const { callee, told } of callees) {
    const theirs = readings.get(callee);
    const calls = told ?? Math.min(1, perRequest(theirs, own));
    seconds -= calls * growth(theirs?.get("responseP95"));
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
