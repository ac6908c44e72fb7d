import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SWEEP_SCHEMA, SweepRow } from "@tradewind/core/contract/sweep.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { HOTEL } from "@tradewind/local/application/hotel.ts";
import { coverageOf, describeCoverage } from "@tradewind/local/profile/coverage.ts";
import type { ServiceState } from "@tradewind/local/application/fleet.ts";
import { createCpuRecord } from "@tradewind/local/profile/cpu-record.ts";
import type { Configuration } from "@tradewind/local/profile/design.ts";
import { rowsOf } from "@tradewind/local/profile/rows.ts";
import { openSweepFile } from "@tradewind/local/profile/sweep-file.ts";
import { windowSecondsFor } from "@tradewind/local/profile/sweep.ts";

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "tradewind-test-sweep-"));
  path = join(directory, "new", "sweep.jsonl");
});
afterEach(async () => rm(directory, { recursive: true, force: true }));

const CONFIGURATION: Configuration = {
  id: "c1",
  requestsPerSecond: 30,
  disturbance: { resource: "cpu", intensity: 0.5 },
  services: [
    { service: "frontend", replicas: 1, size: { cpuCores: 0.2, memoryBytes: 2 ** 28 } },
    { service: "geo", replicas: 2, size: { cpuCores: 0.15, memoryBytes: 2 ** 28 } },
  ],
};

/** Windows of two services and one that nobody set. */
function setAt(startMs: number, replicasOfGeo = 2): WindowSet {
  const window = (service: string, replicasReady: number) => ({
    namespace: "local",
    service,
    startMs,
    endMs: startMs + 2_000,
    replicasReady,
    callees: [],
    containers: [],
  });
  return {
    startMs,
    endMs: startMs + 2_000,
    windows: [window("frontend", 1), window("geo", replicasOfGeo), window("stranger", 1)],
    flows: [],
  };
}

const MEASURED = { configuration: CONFIGURATION, fromMs: 3_000, settledMs: 6_000, toMs: 10_000 };

describe("rowsOf", () => {
  it("takes the windows that lie within a configuration, and marks those that were still settling", () => {
    const sets = [2_000, 4_000, 6_000, 8_000, 10_000].map((startMs) => setAt(startMs));
    const rows = rowsOf(MEASURED, sets, "frontend", () => undefined);
    expect(rows.map(({ window, settled }) => [window.service, window.startMs, settled])).toEqual([
      ["frontend", 4_000, false],
      ["geo", 4_000, false],
      ["frontend", 6_000, true],
      ["geo", 6_000, true],
      ["frontend", 8_000, true],
      ["geo", 8_000, true],
    ]);
    expect(rows[1]!.configuration).toEqual({
      id: "c1",
      replicas: 2,
      cpuCores: 0.15,
      memoryBytes: 2 ** 28,
      requestsPerSecond: 30,
      interference: "cpu-0.5",
    });
    expect(rows.map(({ flows }) => flows !== undefined)).toEqual([true, false, true, false, true, false]);
    for (const row of rows) expect(SweepRow.parse(row)).toEqual(row);
  });

  it("does not count a window as settled in which a replica was missing", () => {
    const rows = rowsOf(MEASURED, [setAt(6_000, 1)], "frontend", () => undefined);
    expect(rows.map(({ settled }) => settled)).toEqual([true, false]);
  });
});

describe("the facts of the platform", () => {
  it("take the place of what the agent read too seldom", () => {
    const record = createCpuRecord();
    const note = (atMs: number, cpuSeconds: number) =>
      record.note([
        {
          ready: [{ identity: { containerId: "a" }, usage: () => ({ atMs, cpuSeconds }) }],
        },
      ] as unknown as readonly ServiceState[]);
    for (const [atMs, cpuSeconds] of [
      [5_900, 1],
      [6_900, 1.1],
      [7_900, 1.3],
    ] as const)
      note(atMs, cpuSeconds);
    // 0.3 CPU seconds in the 2 s between the readings next to its ends.
    expect(record.meanCores("a", 6_000, 8_000)).toBeCloseTo(0.15, 9);
    expect(record.meanCores("a", 10_000, 12_000)).toBeUndefined();
    expect(record.meanCores("b", 6_000, 8_000)).toBeUndefined();

    const set = setAt(6_000);
    const container = { id: "a", cpuRequestCores: 0.2, memoryRequestBytes: 2 ** 28 };
    const stale = { cpuLimitCores: 0.12, memoryLimitBytes: 1, cpuUsageCores: 0.002, cpuThrottledRatio: 0 };
    set.windows[0]!.containers = [
      { ...container, ...stale },
      { ...container, ...stale, id: "b" },
    ];
    const [row] = rowsOf(MEASURED, [set], "frontend", record.meanCores);
    const known = { ...container, cpuLimitCores: 0.2, memoryLimitBytes: 2 ** 28 };
    expect(row!.window.containers[0]!.cpuUsageCores).toBeCloseTo(0.15, 9);
    expect(row!.window.containers[0]).toMatchObject(known);
    expect(row!.window.containers[0]).not.toHaveProperty("cpuThrottledRatio");
    expect(row!.window.containers[1]).toEqual({ ...known, id: "b" });
  });
});

describe("openSweepFile", () => {
  const rows = rowsOf(MEASURED, [setAt(6_000)], "frontend", () => undefined);

  it("begins a file, and refuses to begin it twice", async () => {
    const file = await openSweepFile(path, false);
    expect(file.isFinished("c1")).toBe(false);
    await file.append(rows);
    expect(file.isFinished("c1")).toBe(true);
    await expect(openSweepFile(path, false)).rejects.toThrow("continue it with --resume");
  });

  it("goes on with a file, without the line that a crash cut off", async () => {
    await (await openSweepFile(path, true)).append(rows);
    const whole = await readFile(path, "utf8");
    await writeFile(path, `${whole}{"schema":"${SWEEP_SCHEMA}","config`);
    const file = await openSweepFile(path, true);
    expect(file.rows).toEqual(rows);
    expect(file.isFinished("c1")).toBe(true);
    expect(file.isFinished("c2")).toBe(false);
    expect(await readFile(path, "utf8")).toBe(whole);
  });

  it("measures a configuration again that has no settled window", async () => {
    await (await openSweepFile(path, true)).append(rows.map((row) => ({ ...row, settled: false })));
    expect((await openSweepFile(path, true)).isFinished("c1")).toBe(false);
  });

  it("names the line that is no row, and leaves the file alone", async () => {
    const file = join(directory, "other.jsonl");
    await writeFile(file, `${JSON.stringify(rows[0])}\n{"a":1}\n`);
    await expect(openSweepFile(file, true)).rejects.toThrow("other.jsonl line 2");
    expect(await readFile(file, "utf8")).toContain('{"a":1}');
  });
});

describe("coverageOf", () => {
  it("counts the cells that each service has visited with a settled window, and names the others", () => {
    const empty = coverageOf([], HOTEL);
    expect(empty.filled).toBe(0);
    const some = coverageOf(
      rowsOf(MEASURED, [setAt(6_000), setAt(8_000)], "frontend", () => undefined),
      HOTEL,
    );
    expect(some.cells).toBe(empty.cells);
    expect(some.filled).toBe(2);
    const missingIn = (coverage: typeof some, cell: string) =>
      coverage.gaps.find((gap) => gap.cell === cell)?.services;
    const cell = "20-50 req/s, 0.1-0.2 cores, disturbed by 0.5 or more";
    expect(missingIn(empty, cell)).toContain("geo");
    expect(missingIn(some, cell)).not.toContain("geo");
    expect(missingIn(some, cell)).toContain("frontend");
    expect(describeCoverage(some, 8)[0]).toContain(`coverage: 2 of ${some.cells} cells`);
  });

  it("does not ask for what cannot be: hardly any load on many cores", () => {
    // 30 % of at most 50 requests per second at 2.5 ms is under 0.04 cores: never 15 % of 0.4.
    const gap = coverageOf([], HOTEL).gaps.find(({ cell }) => cell.startsWith("20-50 req/s, 0.4-1 cores"));
    expect(gap?.services ?? []).not.toContain("user");
  });
});

describe("windowSecondsFor", () => {
  it.each([
    [6, 2],
    [8, 4],
    [14, 8],
    [60, 38],
  ])("leaves of %d s a window of %d s", (forEach, seconds) => {
    expect(windowSecondsFor(forEach)).toBe(seconds);
  });
});
