import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Call, Candidate, Incident } from "@tradewind/predictor/answers/reason/incident.ts";
import { pastOf } from "@tradewind/predictor/answers/reason/signals.ts";
import type { Series, SignalName } from "@tradewind/predictor/answers/reason/signals.ts";
import { dataDirectory, numberIn, readCsv } from "../profile/csv.ts";
import { known } from "./case.ts";
import type { CalmCase, RecordedCase, RecordedSet } from "./case.ts";

const FOLDER = ["profile", "online-boutique"] as const;
const ENTRY = "frontend";
/** Unix seconds, 2022-08-22 08:30 UTC: the data sheet's reference begins, without faults; half of it is the past. */
const REFERENCE = 1_661_157_000;
const REFERENCE_SECONDS = 4 * 3600;
/** Faults last 3 to 8 minutes: what is looked at, after the first minute, which a window of the data straddles. */
const BEFORE_SECONDS = 180;
const FROM_SECONDS = 30;
const UNTIL_SECONDS = 240;
const TUNING_UNTIL = 1_661_144_400;
/** Calm cases come after the reference, so many seconds apart. */
const CALM_EVERY = 480;

interface Row {
  readonly seconds: number;
  readonly values: Readonly<Record<string, number>>;
}

const COLUMNS = ["ops", "cpu_pct", "mem_pct", "srv_p95_s", "cli_p95_s", "node_cpu_pct"] as const;
/** Zeros are gaps of the scrape. */
const positive = (value: number): number => (value > 0 ? value : Number.NaN);

const SIGNALS: readonly (readonly [SignalName, string, (value: number) => number])[] = [
  ["requestRate", "ops", (rate) => rate],
  ["cpuUtilisation", "cpu_pct", (percent) => positive(percent) / 100],
  ["responseP95", "srv_p95_s", (seconds) => seconds],
  ["interferenceCpu", "node_cpu_pct", (percent) => positive(percent) / 100],
];

function podRows(): Map<string, Row[]> {
  const rows = new Map<string, Row[]>();
  for (const cells of readCsv(...FOLDER, "pod_minutes.csv.gz")) {
    const values = Object.fromEntries(COLUMNS.map((name) => [name, numberIn(cells, name)]));
    const service = cells["svc"] ?? "";
    const list = rows.get(service) ?? [];
    rows.set(service, list);
    list.push({ seconds: numberIn(cells, "ts"), values });
  }
  return rows;
}

interface Recording {
  readonly pods: ReadonlyMap<string, readonly Row[]>;
  readonly front: readonly { readonly seconds: number; readonly failed: number }[];
  readonly edges: readonly Edge[];
}

interface Edge {
  readonly caller: string;
  readonly callee: string;
  /** Mean calls for each request of the caller. */
  readonly perRequest: number;
  /** Of all calls of the caller. */
  readonly share: number;
}

/** The recorded traces of the minute before the first fault: who calls whom how often. */
const CALM_TRACES = "03_53_trace.csv.gz";
/** The one latency that a caller has of its calls, a p95, does not see a callee with a smaller share of them. */
const LEAST_SHARE = 0.05;

function recording(): Recording {
  const pods = podRows();
  const front = readCsv(...FOLDER, "front_service.csv.gz").map((cells) => ({
    seconds: numberIn(cells, "TimeStamp"),
    failed: 1 - numberIn(cells, "SuccessRate(%)") / 100,
  }));
  return { pods, front, edges: edgesOf(readCsv(...FOLDER, "traces", CALM_TRACES)) };
}

const serviceOf = (pod: string): string => pod.split("-").slice(0, -2).join("-");

/** Spans whose parent is one of another service are requests; so are those without a parent. */
function edgesOf(spans: readonly Readonly<Record<string, string>>[]): Edge[] {
  const podOf = new Map(spans.map(({ PodName = "", SpanID = "" }) => [SpanID, serviceOf(PodName)]));
  const requests = new Map<string, number>();
  const calls = new Map<string, Map<string, number>>();
  for (const { ParentID = "", SpanID = "" } of spans) {
    const [caller, callee = ""] = [podOf.get(ParentID), podOf.get(SpanID)];
    if (caller === callee) continue;
    requests.set(callee, (requests.get(callee) ?? 0) + 1);
    if (caller === undefined) continue;
    const made = calls.get(caller) ?? new Map<string, number>();
    calls.set(caller, made);
    made.set(callee, (made.get(callee) ?? 0) + 1);
  }
  return [...calls].flatMap(([caller, made]) => {
    const all = [...made.values()].reduce((sum, count) => sum + count, 0);
    return [...made].map(([callee, count]): Edge => ({
      caller,
      callee,
      perRequest: count / (requests.get(caller) ?? count),
      share: count / all,
    }));
  });
}

type During = (seconds: number) => boolean;

interface Cut {
  readonly normal: During;
  readonly before: During;
  readonly now: During;
}

const valuesOf = (rows: readonly Row[], during: During, of: (row: Row) => number): number[] =>
  known(rows.filter(({ seconds }) => during(seconds)).map(of));

const seriesOf = (
  rows: readonly Row[],
  signal: SignalName,
  { normal, now }: Pick<Cut, "normal" | "now">,
  of: (row: Row) => number,
): Series => ({
  signal,
  normal: valuesOf(rows, normal, of),
  now: valuesOf(rows, now, of),
});

/** The values of another pod at about the same time: rows of pods are not aligned to the second. */
const near = (rows: readonly Row[], seconds: number): Row | undefined =>
  rows.find((row) => Math.abs(row.seconds - seconds) < 31);

function callsOf({ edges, pods }: Recording, cut: Cut): Call[] {
  return edges.map(({ callee, caller, perRequest, share }): Call => {
    if (share < LEAST_SHARE) return { caller, callee, perRequest };
    const rows = pods.get(caller) ?? [];
    const callees = edges
      .filter((each) => each.caller === caller && each.share >= LEAST_SHARE)
      .map((each) => pods.get(each.callee) ?? []);
    // One latency stands for the calls to all callees: less the slowest of them it is what the network takes at least.
    const transit = seriesOf(rows, "transitTime", cut, ({ seconds, values }) => {
      const served = callees.map((each) => near(each, seconds)?.values["srv_p95_s"] ?? 0);
      return Math.max(0, (values["cli_p95_s"] ?? Number.NaN) - Math.max(0, ...known(served)));
    });
    return { caller, callee, perRequest, transit };
  });
}

/** Calls that a service makes for each of its requests, to callees that nobody else calls. */
function callsPerRequest({ edges, pods }: Recording, service: string, cut: Cut): Series[] {
  const callees = edges
    .filter(
      (each) => each.caller === service && edges.filter(({ callee }) => callee === each.callee).length === 1,
    )
    .map(({ callee }) => pods.get(callee) ?? []);
  if (callees.length === 0) return [];
  const of = ({ seconds, values }: Row): number =>
    callees.reduce((sum, rows) => sum + (near(rows, seconds)?.values["ops"] ?? Number.NaN), 0) /
    positive(values["ops"] ?? 0);
  return [seriesOf(pods.get(service) ?? [], "callsPerRequest", cut, of)];
}

/** Pods keep their level of memory, and restarts between the faults and the reference moved it: that of the minutes before counts. */
function memoryOf(rows: readonly Row[], cut: Cut): Series {
  const of = ({ values }: Row): number => positive(values["mem_pct"] ?? 0) / 100;
  const series = seriesOf(rows, "memoryRatio", cut, of);
  const before = valuesOf(rows, cut.before, of);
  const shift = medianOf(before) - medianOf(series.normal);
  return { ...series, normal: Array.from(series.normal, (value) => value + shift) };
}

const medianOf = (values: ArrayLike<number>): number => pastOf(values)?.median ?? Number.NaN;

function incidentOf(recorded: Recording, at: number): Incident {
  const cut: Cut = {
    normal: inReference,
    before: (seconds) => seconds >= at - BEFORE_SECONDS && seconds < at,
    now: (seconds) => seconds >= at + FROM_SECONDS && seconds < at + UNTIL_SECONDS,
  };
  const { front, pods } = recorded;
  const failed: Series = {
    signal: "errorRatio",
    normal: known(front.filter(({ seconds }) => cut.normal(seconds)).map((each) => each.failed)),
    now: known(front.filter(({ seconds }) => cut.now(seconds)).map((each) => each.failed)),
  };
  const candidates = [...pods].map(([name, rows]): Candidate => {
    const series = SIGNALS.map(([signal, column, convert]) =>
      seriesOf(rows, signal, cut, ({ values }) => convert(values[column] ?? Number.NaN)),
    );
    const calls = callsPerRequest(recorded, name, cut);
    return { name, series: [...series, memoryOf(rows, cut), ...calls, ...(name === ENTRY ? [failed] : [])] };
  });
  return { entry: ENTRY, candidates, calls: callsOf(recorded, cut), leastPast: 12 };
}

interface Fault {
  readonly inject_timestamp: string;
  readonly inject_pod: string;
  readonly inject_type: string;
}

const inReference: During = (seconds) => seconds >= REFERENCE && seconds < REFERENCE + REFERENCE_SECONDS;

/** Online Boutique with 24 injected faults, by the minute. Those before 05:00 are for tuning. @throws Error without the data */
export function nezha(): RecordedSet {
  const recorded = recording();
  const text = readFileSync(join(dataDirectory(), ...FOLDER, "faults.json"), "utf8");
  const faults = Object.values(JSON.parse(text) as Record<string, Fault[]>).flat();
  const cases = faults.map((fault): RecordedCase => {
    const at = Number(fault.inject_timestamp);
    return {
      id: `${fault.inject_type} ${at}`,
      incident: incidentOf(recorded, at),
      rootCause: serviceOf(fault.inject_pod),
      kind: fault.inject_type,
      part: at < TUNING_UNTIL ? "tuning" : "report",
    };
  });
  const calm: CalmCase[] = [];
  const last = recorded.front.at(-1)?.seconds ?? 0;
  for (let at = REFERENCE + REFERENCE_SECONDS; at + UNTIL_SECONDS < last; at += CALM_EVERY) {
    const incident = incidentOf(recorded, at);
    calm.push({ id: `calm ${at}`, incident, part: calm.length % 2 === 0 ? "tuning" : "report" });
  }
  return { name: "online-boutique", cases, calm };
}
