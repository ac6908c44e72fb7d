import type { Window } from "@tradewind/core/contract/window.ts";
import { mergeFlows, mergeWindows } from "./downsample.ts";
import type { StoreOptions } from "./options.ts";
import { flowKey } from "./tables.ts";
import type { Tables } from "./tables.ts";
import type { StoredFlow } from "./window-store.ts";

const DAY_MS = 86_400_000;

/** Windows older than `ageMs` become one per `toSeconds`. */
interface Tier {
  readonly toSeconds: number;
  readonly ageMs: number;
}

const tiers = (options: StoreOptions): readonly Tier[] => [
  { toSeconds: 300, ageMs: options.rawDays * DAY_MS },
  { toSeconds: 3_600, ageMs: options.fiveMinuteDays * DAY_MS },
];

/**
 * One bounded step of housekeeping, each in a transaction of its own: sums up one interval that has grown old, or else
 * removes a slice of what is past its time or beyond the size allowed.
 * @returns whether there may be more to do
 */
export function maintainOnce(tables: Tables, options: StoreOptions, nowMs: number): boolean {
  return (
    tiers(options).some((tier) => sumUpOldest(tables, tier, nowMs)) ||
    removeExpired(tables, options, nowMs) ||
    removeBeyondSize(tables, options)
  );
}

function sumUpOldest(tables: Tables, { toSeconds, ageMs }: Tier, nowMs: number): boolean {
  const lengthMs = toSeconds * 1_000;
  const before = Math.floor((nowMs - ageMs) / lengthMs) * lengthMs;
  const oldest = oldestStart(tables, toSeconds, before);
  if (oldest === undefined) return false;
  const startMs = Math.floor(oldest / lengthMs) * lengthMs;
  const endMs = startMs + lengthMs;
  tables.transaction(() => {
    for (const windows of windowsByService(tables, toSeconds, startMs, endMs)) {
      const merged = mergeWindows(windows, startMs, endMs);
      if (merged !== undefined) tables.putWindow(merged, "backfill");
    }
    for (const flows of storedFlows(tables, toSeconds, startMs, endMs)) {
      const merged = mergeFlows(flows, startMs, endMs);
      if (merged !== undefined) tables.putFlow(merged, startMs, endMs);
    }
    for (const table of ["windows", "flows"] as const) {
      tables.run(
        `DELETE FROM ${table} WHERE resolution < ? AND start_ms >= ? AND start_ms < ?`,
        toSeconds,
        startMs,
        endMs,
      );
    }
  });
  return true;
}

function oldestStart(tables: Tables, finerThan: number, before: number): number | undefined {
  const starts = (["windows", "flows"] as const).flatMap((table) =>
    tables
      .resolutions(table)
      .filter((resolution) => resolution < finerThan)
      .flatMap((resolution) =>
        tables.all(
          `SELECT start_ms FROM ${table} WHERE resolution = ? AND start_ms < ? ORDER BY start_ms LIMIT 1`,
          resolution,
          before,
        ),
      )
      .map((row) => Number(row["start_ms"])),
  );
  return starts.length === 0 ? undefined : Math.min(...starts);
}

function windowsByService(
  tables: Tables,
  finerThan: number,
  fromMs: number,
  toMs: number,
): Iterable<Window[]> {
  const groups = new Map<string, Window[]>();
  for (const resolution of tables.resolutions("windows").filter((each) => each < finerThan)) {
    for (const window of tables.windows(resolution, { fromMs, toMs })) {
      const key = `${window.namespace}/${window.service}`;
      const group = groups.get(key) ?? [];
      group.push(window);
      groups.set(key, group);
    }
  }
  for (const group of groups.values()) group.sort((a, b) => a.startMs - b.startMs);
  return groups.values();
}

function storedFlows(
  tables: Tables,
  finerThan: number,
  fromMs: number,
  toMs: number,
): Iterable<StoredFlow[]> {
  const groups = new Map<string, StoredFlow[]>();
  for (const resolution of tables.resolutions("flows").filter((each) => each < finerThan)) {
    for (const flow of tables.flows(resolution, fromMs, toMs)) {
      const key = flowKey(flow);
      const group = groups.get(key) ?? [];
      group.push(flow);
      groups.set(key, group);
    }
  }
  return groups.values();
}

const SLICE_ROWS = 2_000;

/** Decisions kept at most; each takes about 1 kB. */
const MOST_DECISIONS = 50_000;
/** In a small store decisions may take a tenth of the bytes. */
const BYTES_PER_DECISION = 10_000;

function removeExpired(tables: Tables, options: StoreOptions, nowMs: number): boolean {
  const windowsBefore = nowMs - options.hourDays * DAY_MS;
  const decisionsBefore = nowMs - options.decisionDays * DAY_MS;
  let removed = 0;
  tables.transaction(() => {
    for (const table of ["windows", "flows"] as const) {
      for (const resolution of tables.resolutions(table)) {
        removed += removeOldest(tables, table, resolution, windowsBefore);
      }
    }
    removed += tables.run("DELETE FROM decisions WHERE decided_at_ms < ?", decisionsBefore);
    removed += tables.run(
      "DELETE FROM decisions WHERE decided_at_ms < (SELECT decided_at_ms FROM decisions ORDER BY decided_at_ms DESC LIMIT 1 OFFSET ?)",
      Math.min(MOST_DECISIONS, Math.floor(options.maxBytes / BYTES_PER_DECISION)) - 1,
    );
    // Of releases that trained some: nothing reads them.
    removed += tables.run("DELETE FROM models");
    removed += tables.services.prune(SLICE_ROWS);
  });
  return removed >= SLICE_ROWS;
}

function removeOldest(
  tables: Tables,
  table: "windows" | "flows",
  resolution: number,
  before: number,
): number {
  const name = table === "windows" ? "service_id" : "flow";
  return tables.run(
    `DELETE FROM ${table} WHERE (resolution, start_ms, ${name}) IN (SELECT resolution, start_ms, ${name} FROM ${table}
     WHERE resolution = ? AND start_ms < ? ORDER BY start_ms LIMIT ${SLICE_ROWS})`,
    resolution,
    before,
  );
}

/** Share of the time kept that is given up in one step when there is too much. */
const STEP_SHARE = 0.02;

/** Of what is left the oldest goes first, whatever its resolution; but names that nothing refers to before any window. */
function removeBeyondSize(tables: Tables, { maxBytes }: StoreOptions): boolean {
  if (tables.usedBytes() <= maxBytes) return false;
  if (removeUnusedNames(tables)) return true;
  const groups = (["windows", "flows"] as const).flatMap((table) =>
    tables.resolutions(table).map((resolution) => ({ table, resolution })),
  );
  // Asked one by one, each is answered from the index.
  const times = (which: "min" | "max"): number[] =>
    groups.map(({ resolution, table }) => {
      const [row] = tables.all(
        `SELECT ${which}(start_ms) AS at FROM ${table} WHERE resolution = ?`,
        resolution,
      );
      return Number(row?.["at"]);
    });
  const oldest = Math.min(...times("min"));
  const before = oldest + Math.max(1, STEP_SHARE * (Math.max(...times("max")) - oldest));
  let removed = 0;
  tables.transaction(() => {
    for (const { resolution, table } of groups) removed += removeOldest(tables, table, resolution, before);
  });
  return removed > 0;
}

/** Looks at one slice of the names of services. @returns whether some were removed, or others are still to be looked at */
function removeUnusedNames(tables: Tables): boolean {
  let removed = 0;
  tables.transaction(() => {
    removed = tables.services.prune(SLICE_ROWS);
  });
  return removed > 0 || !tables.services.areLookedThrough;
}
