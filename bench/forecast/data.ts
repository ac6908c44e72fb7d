import { mean } from "@tradewind/core/values/statistics.ts";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { dataDirectory, numberIn, readCsv } from "../profile/csv.ts";

export interface LoadData {
  readonly name: string;
  readonly stepSeconds: number;
  /** Null where a step is missing. */
  readonly values: readonly (number | null)[];
  /** Steps of a day where there is more than one; what errors are compared with. */
  readonly season?: number;
}

const DAY_SECONDS = 86_400;
const FIVE_MINUTES = 300;
const NAB = [
  "elb_request_count_8c0756",
  "ec2_cpu_utilization_5f5533",
  "ec2_cpu_utilization_ac20cd",
  "ec2_cpu_utilization_fe7f93",
  "Twitter_volume_AAPL",
  "Twitter_volume_FB",
  "Twitter_volume_GOOG",
] as const;

/** Means of so many values each. */
function meansOf(values: readonly number[], count: number): number[] {
  return Array.from({ length: Math.floor(values.length / count) }, (_, at) =>
    mean(values.slice(at * count, (at + 1) * count)),
  );
}

function hourOf(name: string): LoadData {
  const path = join(dataDirectory(), "workload", "autothrottle", `${name}.txt`);
  if (!existsSync(path)) throw new Error(`${path} is not there; set TRADEWIND_DATA to the data folder`);
  const values = readFileSync(path, "utf8").trim().split(/\s+/).map(Number);
  return { name: `autothrottle-${name}`, stepSeconds: 60, values: meansOf(values, 60) };
}

/** Steps by their times; those that are not in the file are missing. */
function nabOf(name: string): LoadData {
  const rows = readCsv("workload", "nab", `${name}.csv.gz`);
  const times = rows.map(({ timestamp = "" }) => Date.parse(`${timestamp}Z`) / 1e3);
  const [first = 0] = times;
  const place = (seconds: number): number => Math.round((seconds - first) / FIVE_MINUTES);
  const values: (number | null)[] = Array.from({ length: place(times.at(-1) ?? first) + 1 }, () => null);
  for (const [at, row] of rows.entries()) values[place(times[at] ?? first)] = numberIn(row, "value");
  return { name, stepSeconds: FIVE_MINUTES, values, season: DAY_SECONDS / FIVE_MINUTES };
}

/** Every series of the data folder's `workload`. @throws Error without it */
export function readLoads(): LoadData[] {
  const wiki = readCsv("workload", "pbscaler_wiki", "wiki.csv.gz").map((row) => numberIn(row, "frontend"));
  const alibaba = readCsv("workload", "coscal", "Alibaba_requests_up_5min.csv.gz");
  return [
    hourOf("diurnal"),
    hourOf("noisy"),
    { name: "pbscaler_wiki", stepSeconds: 60, values: meansOf(wiki, 60) },
    {
      name: "coscal-alibaba-5min",
      stepSeconds: FIVE_MINUTES,
      values: alibaba.map((row) => numberIn(row, "requests")),
      season: DAY_SECONDS / FIVE_MINUTES,
    },
    ...NAB.map((name) => nabOf(name)),
  ];
}
