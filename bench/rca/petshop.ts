import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { Call, Candidate, Incident } from "@tradewind/predictor/answers/reason/incident.ts";
import type { Series, SignalName } from "@tradewind/predictor/answers/reason/signals.ts";
import { dataDirectory } from "../profile/csv.ts";
import { known } from "./case.ts";
import type { CalmCase, RecordedCase, RecordedSet } from "./case.ts";

const STEP_SECONDS = 300;
const ENTRY = "PetSite";
/** Normal windows that calm cases are cut from, so many at a time, and those before that are their past. */
const CALM_WINDOWS = 2;
const CALM_EVERY = 20;
const CALM_PAST = 288;

type Column = readonly number[];
interface Table {
  readonly seconds: readonly number[];
  /** By node, then `metric statistic`. */
  readonly nodes: ReadonlyMap<string, ReadonlyMap<string, Column>>;
}

function table(...path: string[]): Table {
  const file = join(folder(), ...path, "metrics.csv.gz");
  const rows = gunzipSync(readFileSync(file)).toString("utf8").trim().split(/\r?\n/);
  const [names = [], metrics = [], statistics = [], , ...values] = rows.map((row) => row.split(","));
  const nodes = new Map<string, Map<string, Column>>();
  for (let at = 1; at < names.length; at += 1) {
    const name = names[at] ?? "";
    const columns = nodes.get(name) ?? new Map<string, Column>();
    nodes.set(name, columns);
    columns.set(
      `${metrics[at]} ${statistics[at]}`,
      values.map((row) => (row[at] === "" ? Number.NaN : Number(row[at]))),
    );
  }
  return { seconds: values.map(([time]) => Number(time)), nodes };
}

function folder(): string {
  const path = join(dataDirectory(), "rca", "petshop", "low_traffic");
  if (!existsSync(path)) throw new Error(`${path} is not there; set TRADEWIND_DATA to the data folder`);
  return path;
}

/** Availability in % becomes a share of failed requests; requests of five minutes become a rate. */
const SIGNALS: readonly (readonly [SignalName, string, (value: number) => number])[] = [
  ["requestRate", "requests Sum", (count) => count / STEP_SECONDS],
  ["responseP95", "latency Average", (seconds) => seconds],
  ["errorRatio", "availability Average", (percent) => 1 - percent / 100],
];

/** Names of remote hosts and of clients are what a caller saw. */
const isOutside = (name: string): boolean => /_(remote|client)$/.test(name);

function graph(): Call[] {
  const [header = "", ...rows] = readFileSync(join(folder(), "graph.csv"), "utf8").trim().split(/\r?\n/);
  const names = header.split(",").slice(1);
  return rows.flatMap((row) => {
    const [caller = "", ...cells] = row.split(",");
    return names.filter((_, at) => Number(cells[at]) === 1).map((callee) => ({ caller, callee }));
  });
}

interface Cut {
  readonly normal: Table;
  readonly normalRows: (at: number) => boolean;
  readonly now: Table;
  readonly nowRows: (at: number) => boolean;
}

function incidentOf({ normal, normalRows, now, nowRows }: Cut, calls: readonly Call[]): Incident {
  const candidates = [...now.nodes].map(([name, columns]): Candidate => {
    const series = SIGNALS.map(([signal, column, convert]): Series => {
      const past = normal.nodes.get(name)?.get(column) ?? [];
      const since = columns.get(column) ?? [];
      return {
        signal,
        normal: known(past.filter((_, at) => normalRows(at)).map(convert)),
        now: known(since.filter((_, at) => nowRows(at)).map(convert)),
      };
    });
    return { name, series, isOutside: isOutside(name) };
  });
  return { entry: ENTRY, candidates, calls, leastPast: 12 };
}

interface Target {
  readonly target: { readonly timestamp: number; readonly metric: string };
  readonly root_cause: { readonly node: string };
}

function casesOf(part: "train" | "test", normal: Table, calls: readonly Call[]): RecordedCase[] {
  return readdirSync(join(folder(), part)).map((issue): RecordedCase => {
    const text = readFileSync(join(folder(), part, issue, "target.json"), "utf8");
    // Its metadata names the injected fault, and is not read.
    const { root_cause, target } = JSON.parse(text) as Target;
    const now = table(part, issue);
    const nowRows = (at: number): boolean => (now.seconds[at] ?? 0) > target.timestamp - STEP_SECONDS;
    return {
      id: `${part}/${issue}`,
      incident: incidentOf({ normal, normalRows: () => true, now, nowRows }, calls),
      rootCause: root_cause.node,
      kind: target.metric,
      part: part === "train" ? "tuning" : "report",
    };
  });
}

/** Two windows each of the second day of the normal run, with the day before as their past. */
function calmOf(normal: Table, calls: readonly Call[]): CalmCase[] {
  const calm: CalmCase[] = [];
  for (let first = CALM_PAST; first + CALM_WINDOWS <= normal.seconds.length; first += CALM_EVERY) {
    const cut: Cut = {
      normal,
      normalRows: (at) => at >= first - CALM_PAST && at < first,
      now: normal,
      nowRows: (at) => at >= first && at < first + CALM_WINDOWS,
    };
    calm.push({
      id: `calm ${first}`,
      incident: incidentOf(cut, calls),
      part: calm.length % 2 === 0 ? "tuning" : "report",
    });
  }
  return calm;
}

/** AWS PetShop, low traffic: 26 issues. The authors' `train` is for tuning. @throws Error without the data */
export function petshop(): RecordedSet {
  const normal = table("noissue");
  const calls = graph();
  return {
    name: "petshop",
    cases: [...casesOf("train", normal, calls), ...casesOf("test", normal, calls)],
    calm: calmOf(normal, calls),
  };
}
