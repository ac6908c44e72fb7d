import { existsSync, readFileSync } from "node:fs";
import { parseJsonWith } from "@tradewind/core/values/config.ts";
import { SweepRow } from "@tradewind/core/contract/sweep.ts";
import { profileObservation } from "@tradewind/predictor/decide/cost/learn/service-reading.ts";
import { surroundingsOf } from "@tradewind/predictor/models/network/surroundings.ts";
import type { Surroundings } from "@tradewind/predictor/models/network/surroundings.ts";
import type { NetworkWindow } from "@tradewind/predictor/models/network/window-inputs.ts";
import { numberIn, readCsv } from "./csv.ts";

/** A measured window of one service. */
export interface Recorded {
  readonly service: string;
  readonly window: NetworkWindow;
  readonly p95Seconds: number;
  readonly replicas: number;
  /** Replicas, allocation and interference that were set: what a split by configuration leaves out whole. */
  readonly setting: string;
}

/** A set of recordings, and which of its rows are held out under which name. */
export interface Recording {
  readonly name: string;
  readonly notes: string;
  /** In order of time. */
  readonly rows: readonly Recorded[];
  readonly splits: Readonly<Record<string, (row: Recorded) => boolean>>;
}

const MINUTE_SECONDS = 60;
const UNKNOWN = Number.NaN;

interface MinuteFacts {
  readonly atMs: number;
  /** Requests per second to one container, and containers. */
  readonly load: number;
  readonly containers: number;
  readonly p95Seconds: number;
  readonly usedCores: number;
  /** CPU limit of a container; undefined where none held. */
  readonly cpuCores: number | undefined;
  readonly surroundings: Surroundings;
}

function minute(facts: MinuteFacts): NetworkWindow {
  const { atMs, containers, cpuCores, load, p95Seconds, surroundings, usedCores } = facts;
  return {
    observation: {
      atMs,
      windowSeconds: MINUTE_SECONDS,
      cpuCores,
      loadPerContainer: load,
      calls: Math.max(1, Math.round(load * containers * MINUTE_SECONDS)),
      p95Seconds,
      ...(usedCores > 0 && { cpuUsageCores: usedCores }),
    },
    surroundings,
  };
}

const ratio = (value: number): number => (value > 0 ? value / 100 : UNKNOWN);
const inTime = (rows: readonly Recorded[]): Recorded[] =>
  rows.toSorted((a, b) => a.window.observation.atMs - b.window.observation.atMs);

const FIRST_DAY = 14;
/** Replica counts that the data's own reference figures hold out. */
const HELD_OUT_REPLICAS = new Set([2, 5, 9, 13]);

/** One service on GKE under a sweep of load and replicas, in seven copies. */
export function boutiqueGke(): Recording {
  const rows = readCsv("profile", "boutique-gke", "sweep.csv.gz").map((row): Recorded => {
    const replicas = numberIn(row, "replicas");
    const p95Seconds = numberIn(row, "p95_ms") / 1e3;
    const window = minute({
      atMs: Date.parse(`${row["time_iso"] ?? ""}Z`),
      load: numberIn(row, "rps_per_replica"),
      containers: replicas,
      p95Seconds,
      usedCores: numberIn(row, "cpu_fraction_of_request"),
      cpuCores: undefined,
      surroundings: {
        memoryRatio: numberIn(row, "memory_fraction"),
        interference: [UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN],
      },
    });
    return { service: row["namespace"] ?? "", window, p95Seconds, replicas, setting: String(replicas) };
  });
  return {
    name: "boutique-gke",
    notes:
      "productcatalogservice in seven copies, a model of each; CPU in units of the request, which is no limit: up to 1.5 are used; 92 % of p95 lie in one histogram " +
      "bucket, so the calm rows judge little",
    rows: inTime(rows),
    splits: {
      day: ({ window }) => new Date(window.observation.atMs).getUTCDate() !== FIRST_DAY,
      replicas: ({ replicas }) => HELD_OUT_REPLICAS.has(replicas),
    },
  };
}

const BOUTIQUE_TESTED_FROM_MS = Date.UTC(2022, 7, 22, 16);

/** Ten services at almost constant load: whether a model admits that there is nothing to learn. */
export function onlineBoutique(): Recording {
  const rows = readCsv("profile", "online-boutique", "pod_minutes.csv.gz").map((row): Recorded => {
    const p95Seconds = numberIn(row, "srv_p95_s");
    const nodeCpu = ratio(numberIn(row, "node_cpu_pct"));
    const nodeMemory = ratio(numberIn(row, "node_mem_pct"));
    const window = minute({
      atMs: numberIn(row, "ts") * 1e3,
      load: numberIn(row, "ops"),
      containers: 1,
      p95Seconds,
      usedCores: ratio(numberIn(row, "cpu_pct")),
      cpuCores: 1,
      surroundings: { memoryRatio: UNKNOWN, interference: [nodeCpu, nodeMemory, UNKNOWN, UNKNOWN] },
    });
    return { service: row["svc"] ?? "", window, p95Seconds, replicas: 1, setting: "" };
  });
  return {
    name: "online-boutique",
    notes:
      "tested from 16:00 on; CPU in units of the limit; node CPU and memory share stand for interference (they include the " +
      "pod's own use); load is almost constant, the knee hardly visited: a constant is hard to beat here",
    rows: inTime(rows),
    splits: { time: ({ window }) => window.observation.atMs >= BOUTIQUE_TESTED_FROM_MS },
  };
}

/** Where `tradewind profile` left its sweep of the local platform; undefined when there is none. */
export function sweepPath(): string | undefined {
  const path = process.env["TRADEWIND_SWEEP"];
  return path !== undefined && existsSync(path) ? path : undefined;
}

const SETTINGS_LEFT_OUT = 4;

/** The profiling sweep of the local platform (JSON lines of `SweepRow`). */
export function platformSweep(path: string): Recording {
  const lines = readFileSync(path, "utf8").split("\n");
  const rows = lines.flatMap((line, at): Recorded[] => {
    if (line.trim() === "") return [];
    const { configuration, settled, window } = parseJsonWith(SweepRow, line, `${path} line ${at + 1}`);
    const observation = profileObservation(window, false, { youngSeconds: 0 });
    const p95Seconds = window.ownLatency?.p95Seconds ?? 0;
    if (!settled || observation === undefined || !(p95Seconds > 0)) return [];
    const { cpuCores, interference, memoryBytes, replicas } = configuration;
    const setting = [replicas, cpuCores, memoryBytes ?? "-", interference].join(" ");
    const seen = { observation, surroundings: surroundingsOf(window) };
    return [{ service: window.service, window: seen, p95Seconds, replicas, setting }];
  });
  const settings = [...new Set(rows.map(({ setting }) => setting))].toSorted();
  const ordered = inTime(rows);
  const cutMs = ordered[Math.floor(0.7 * ordered.length)]?.window.observation.atMs ?? 0;
  return {
    name: "platform-sweep",
    notes:
      "local platform, real processes; left out: windows still settling, without load or latency; `configuration`: a quarter " +
      "of the settings, each left out whole; `time`: the last 30 %",
    rows: ordered,
    splits: {
      configuration: ({ setting }) => settings.indexOf(setting) % SETTINGS_LEFT_OUT === 1,
      time: ({ window }) => window.observation.atMs >= cutMs,
    },
  };
}
