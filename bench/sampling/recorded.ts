import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gunzipSync } from "node:zlib";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { excursions } from "./trace.ts";
import type { Trace } from "./trace.ts";

interface Case {
  readonly name: string;
  readonly files: readonly string[];
  /** Absent: one number a line. */
  readonly column?: string;
  /** Cores per unit of the column. */
  readonly scale: number;
  readonly structured: boolean;
  /** Rate that shows the fault, cores; absent without a fault, or with one that adds less than a burst (0.3 cores). */
  readonly faultLevel?: number;
}

const rcaeval = (folder: string): string[] =>
  ["normal", "anomalous"].map((part) => `rca/rcaeval/${folder}/${part}.csv.gz`);

/** The published figure is a percentage of one core. */
const PERCENT = 0.01;
/** Request rates stand for CPU at a constant 4 ms per request. */
const CORES_PER_REQUEST_RATE = 0.004;

/**
 * Recorded at one second, with an injected CPU fault in the service named: RCAEval. Its scraper held values for 4 to 5 s, so
 * that the recording cannot show what happens within less. Autothrottle's request rates were published second by second.
 */
const CASES: readonly Case[] = [
  {
    name: "recorded adservice 1",
    files: rcaeval("online-boutique/adservice_cpu_1"),
    column: "adservice_cpu",
    scale: PERCENT,
    structured: true,
    faultLevel: 0.5,
  },
  {
    name: "recorded adservice 2",
    files: rcaeval("online-boutique/adservice_cpu_2"),
    column: "adservice_cpu",
    scale: PERCENT,
    structured: true,
    faultLevel: 0.5,
  },
  {
    name: "recorded carts 1",
    files: rcaeval("sock-shop-2/carts_cpu_1"),
    column: "carts_cpu",
    scale: PERCENT,
    structured: true,
    faultLevel: 0.25,
  },
  {
    name: "recorded carts 2",
    files: rcaeval("sock-shop-2/carts_cpu_2"),
    column: "carts_cpu",
    scale: PERCENT,
    structured: true,
    faultLevel: 0.25,
  },
  {
    name: "recorded checkoutservice",
    files: ["rca/rcaeval/re2ob_case_simple_metrics.csv.gz"],
    column: "checkoutservice_cpu",
    scale: PERCENT,
    structured: true,
  },
  {
    name: "recorded frontend",
    files: rcaeval("online-boutique/adservice_cpu_1"),
    column: "frontend_cpu",
    scale: PERCENT,
    structured: true,
  },
  {
    name: "recorded diurnal load",
    files: ["workload/autothrottle/diurnal.txt"],
    scale: CORES_PER_REQUEST_RATE,
    structured: true,
  },
  {
    name: "recorded noisy load",
    files: ["workload/autothrottle/noisy.txt"],
    scale: CORES_PER_REQUEST_RATE,
    structured: false,
  },
];

/** The half of the recordings that constants and rivals are tuned on. */
export const TUNED_RECORDINGS: ReadonlySet<string> = new Set([
  "recorded adservice 1",
  "recorded carts 1",
  "recorded checkoutservice",
  "recorded diurnal load",
]);

/** The folder of the measurement data: TRADEWIND_DATA, or `../shared/data` beside the repository. */
export function dataFolder(): string {
  return process.env["TRADEWIND_DATA"] ?? resolve(import.meta.dirname, "../../../shared/data");
}

function read(path: string): string {
  if (!existsSync(path)) {
    throw new TradewindError(
      "no-data",
      `${path} is missing: set TRADEWIND_DATA to the folder of the measurement data`,
    );
  }
  const bytes = readFileSync(path);
  return (path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
}

function column(path: string, name: string | undefined): number[] {
  const lines = read(path).trim().split(/\r?\n/);
  const index = name === undefined ? 0 : (lines.shift() ?? "").split(",").indexOf(name);
  if (index < 0) throw new TradewindError("bad-data", `${path} has no column ${name ?? ""}`);
  const values = lines.map((line) => Number(line.split(",")[index]));
  if (!values.every((value) => Number.isFinite(value))) {
    throw new TradewindError(
      "bad-data",
      `column ${name ?? 1} of ${path} holds something that is not a number`,
    );
  }
  return values;
}

/**
 * The recorded signals.
 * @throws TradewindError naming the file that is missing or unreadable
 */
export function recordedTraces(folder: string, tolerance: number): Trace[] {
  return CASES.map(({ name, files, column: wanted, scale, structured, faultLevel }) => {
    const values = files.flatMap((file) => column(join(folder, file), wanted));
    const rates = Float64Array.from(values, (value) => value * scale);
    const episodes = faultLevel === undefined ? [] : excursions(rates, faultLevel, tolerance, 5);
    return { name, structured, rates, episodes };
  });
}
