import { parseSingle } from "../../parse/cgroup-files.ts";
import { flatValue } from "../../parse/flat-keyed.ts";
import { malformed } from "../../parse/malformed.ts";
import { AbsentSource, readFailure } from "../../read/file-error.ts";
import { OptionalFile } from "../../read/optional-file.ts";
import type { HeldFile } from "../../read/reader.ts";
import { CHANNEL } from "../../sampling/signal.ts";
import type { SignalOptions } from "../../sampling/signal.ts";
import { COLUMN, COLUMN_COUNT } from "../columns.ts";
import type { ContainerColumn } from "../columns.ts";
import { MEMORY_TOLERANCE_BYTES, memoryToleranceBytes } from "./tolerance.ts";
import { put } from "./probe.ts";
import type { CgroupPlace, Probe, ProbeTarget } from "./probe.ts";

/** The kernel gathers its per-CPU statistics when memory.stat is read. */
const COST_SECONDS = 15e-6;

const SCHEDULE: SignalOptions = {
  kind: "gauge",
  tolerance: MEMORY_TOLERANCE_BYTES,
  channels: CHANNEL.memory,
  costSeconds: COST_SECONDS,
};

const FILLS: readonly ContainerColumn[] = [
  "memoryUsageBytes",
  "memoryWorkingSetBytes",
  "memoryAnonymousBytes",
  "memoryFileBytes",
  "memoryDirtyBytes",
  "memoryFaults",
  "memoryMajorFaults",
  "memoryRefaults",
  "memoryScannedPages",
  "memoryReclaimedPages",
  "memoryHighEvents",
  "memoryLimitHits",
  "memoryOomKills",
];

/** Usage, working set, faults, refaults and kills: `memory.stat` and its neighbours, of v2 or of a v1 tree. */
export class MemoryProbe implements Probe {
  readonly name = "memory";
  readonly schedule = SCHEDULE;
  readonly fills = FILLS;
  readonly #isV1: boolean;
  readonly #isThere: boolean;
  readonly #usage: HeldFile;
  readonly #stat: HeldFile;
  readonly #events: OptionalFile;
  readonly #failures: OptionalFile | undefined;
  readonly #beside: MemoryProbe | undefined;
  readonly #target: ProbeTarget;

  constructor(place: CgroupPlace, target: ProbeTarget) {
    const { reader, hierarchies, path, besidePath } = place;
    const isV1 = hierarchies.mode !== "v2";
    const tree = isV1 ? hierarchies.memory : hierarchies.unified;
    const folder = `${tree ?? ""}${path}`;
    this.#isV1 = isV1;
    this.#isThere = tree !== undefined;
    this.#usage = reader.file(folder, isV1 ? "memory.usage_in_bytes" : "memory.current");
    this.#stat = reader.file(folder, "memory.stat");
    this.#events = new OptionalFile(reader.file(folder, isV1 ? "memory.oom_control" : "memory.events"));
    this.#failures = isV1 ? new OptionalFile(reader.file(folder, "memory.failcnt")) : undefined;
    if (besidePath !== undefined) {
      const values = new Float64Array(COLUMN_COUNT).fill(Number.NaN);
      const beside = { ...place, path: besidePath, besidePath: undefined };
      this.#beside = new MemoryProbe(beside, { values, rates: target.rates });
    }
    this.#target = target;
  }

  get tolerance(): number {
    return memoryToleranceBytes(this.#target);
  }

  read(): number {
    if (!this.#isThere) throw new AbsentSource("the memory controller");
    const usageBytes = parseSingle(this.#usage.text());
    const text = this.#stat.text();
    if (this.#isV1) readSplitStat(text, usageBytes, this.#target);
    else readUnifiedStat(text, usageBytes, this.#target);
    this.#readEvents();
    this.#addBeside();
    return this.#target.values[COLUMN.memoryWorkingSetBytes] || 0;
  }

  close(): void {
    this.#usage.close();
    this.#stat.close();
    this.#events.close();
    this.#failures?.close();
    this.#beside?.close();
  }

  #addBeside(): void {
    const beside = this.#beside;
    if (beside === undefined) return;
    try {
      beside.read();
    } catch (error) {
      if (readFailure(error) === "absent") return;
      throw error;
    }
    for (const column of FILLS) {
      const more = beside.#target.values[COLUMN[column]] ?? Number.NaN;
      const index = COLUMN[column];
      if (!Number.isNaN(more)) this.#target.values[index] = (this.#target.values[index] || 0) + more;
    }
  }

  #readEvents(): void {
    const text = this.#events.text() ?? "";
    put(this.#target, "memoryOomKills", flatValue(text, "oom_kill"));
    if (this.#isV1) {
      const failures = this.#failures?.text();
      put(this.#target, "memoryLimitHits", failures === undefined ? undefined : parseSingle(failures));
    } else {
      put(this.#target, "memoryHighEvents", flatValue(text, "high"));
      put(this.#target, "memoryLimitHits", flatValue(text, "max"));
    }
  }
}

/** Kernels before 5.9 count all refaults under one key. */
function refaults(text: string, prefix: string): number | undefined {
  const anonymous = flatValue(text, `${prefix}workingset_refault_anon`);
  const file = flatValue(text, `${prefix}workingset_refault_file`);
  if (anonymous === undefined && file === undefined) return flatValue(text, `${prefix}workingset_refault`);
  return (anonymous ?? 0) + (file ?? 0);
}

/** Usage less inactive page cache, never below 0: what kubelet calls the working set. */
function putUsage(usageBytes: number, inactiveFileBytes: number, target: ProbeTarget): void {
  if (usageBytes === 0) {
    // Nothing is charged to it: its memory may be charged to another cgroup.
    put(target, "memoryUsageBytes", undefined);
    put(target, "memoryWorkingSetBytes", undefined);
    return;
  }
  put(target, "memoryUsageBytes", usageBytes);
  put(target, "memoryWorkingSetBytes", Math.max(0, usageBytes - inactiveFileBytes));
}

function readUnifiedStat(text: string, usageBytes: number, target: ProbeTarget): void {
  const inactiveFile = flatValue(text, "inactive_file");
  if (inactiveFile === undefined) throw malformed("memory.stat", text);
  putUsage(usageBytes, inactiveFile, target);
  put(target, "memoryAnonymousBytes", flatValue(text, "anon"));
  put(target, "memoryFileBytes", flatValue(text, "file"));
  put(target, "memoryDirtyBytes", flatValue(text, "file_dirty"));
  put(target, "memoryFaults", flatValue(text, "pgfault"));
  put(target, "memoryMajorFaults", flatValue(text, "pgmajfault"));
  put(target, "memoryRefaults", refaults(text, ""));
  put(target, "memoryScannedPages", flatValue(text, "pgscan"));
  put(target, "memoryReclaimedPages", flatValue(text, "pgsteal"));
}

/** v1 has the values of the whole subtree under the prefix `total_`. */
function readSplitStat(text: string, usageBytes: number, target: ProbeTarget): void {
  const inactiveFile = flatValue(text, "total_inactive_file");
  if (inactiveFile === undefined) throw malformed("memory.stat", text);
  putUsage(usageBytes, inactiveFile, target);
  put(target, "memoryAnonymousBytes", flatValue(text, "total_rss"));
  put(target, "memoryFileBytes", flatValue(text, "total_cache"));
  put(target, "memoryDirtyBytes", flatValue(text, "total_dirty"));
  put(target, "memoryFaults", flatValue(text, "total_pgfault"));
  put(target, "memoryMajorFaults", flatValue(text, "total_pgmajfault"));
  put(target, "memoryRefaults", refaults(text, "total_"));
}
