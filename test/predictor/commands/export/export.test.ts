import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLog } from "@tradewind/core/process/log.ts";
import { exportWindows } from "@tradewind/predictor/commands/export/command.ts";
import { CSV_COLUMNS, csvRow } from "@tradewind/predictor/commands/export/rows.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { aSet, aWindow } from "../../store/windows-of.ts";

let state = "";
beforeEach(async () => {
  state = mkdtempSync(join(tmpdir(), "tradewind-export-"));
  const store = new SqliteStore({ path: join(state, "history.sqlite"), log: createLog("test", "silent") });
  for (let index = 0; index < 20; index += 1) store.append(aSet(index * 15_000, ["cart", "stock"]));
  await store.close();
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

/** A reader so slow that the writer has to wait for it. */
class SlowReader extends Writable {
  text = "";
  constructor() {
    super({ highWaterMark: 16 });
  }
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString("utf8");
    setImmediate(done);
  }
}

async function exported(flags: Record<string, unknown>): Promise<string[]> {
  const out = new SlowReader();
  await exportWindows({ state, format: "csv", ...flags }, out);
  await new Promise((resolve) => out.end(resolve));
  return out.text.trimEnd().split("\n");
}

describe("export", () => {
  it("prints a header and one line per window, oldest first, to a slow reader too", async () => {
    const lines = await exported({});
    expect(lines[0]).toBe(CSV_COLUMNS.join(","));
    expect(lines).toHaveLength(41);
    expect(lines[1]).toMatch(/^1970-01-01T00:00:00.000Z,1970-01-01T00:00:15.000Z,shop,(cart|stock),/);
    for (const line of lines) expect(line.split(",")).toHaveLength(CSV_COLUMNS.length);
  });

  it("prints whole windows as JSON lines, of one service and one stretch of time", async () => {
    const lines = await exported({ format: "jsonl", service: "stock", from: 60_000, to: 90_000 });
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(
      [60_000, 75_000].map((startMs) => aSet(startMs, ["cart", "stock"]).windows[1]),
    );
  });

  it("says so when there is no history", async () => {
    await expect(exported({ state: join(state, "none") })).rejects.toThrow(/no history/);
  });
});

describe("csvRow", () => {
  it("leaves empty what was not measured, and sums containers only when all tell", () => {
    const window = aWindow({
      startMs: 0,
      containers: [
        { id: "a", cpuUsageCores: 0.5, cpuLimitCores: 1 },
        { id: "b", cpuUsageCores: 0.25 },
      ],
    });
    const values = csvRow(window).split(",");
    const cells: Record<string, string | undefined> = {};
    CSV_COLUMNS.forEach((column, index) => {
      cells[column] = values[index];
    });
    expect(cells).toMatchObject({
      containers: "2",
      cpuUsageCores: "0.75",
      cpuLimitCores: "",
      ownMeanSeconds: "",
      ownLatencyDerived: "",
      responseP95Seconds: "0.05",
    });
  });

  it("quotes what CSV needs quoted, and lets no name run as a formula", () => {
    expect(csvRow(aWindow({ startMs: 0, service: 'a,"b"' }))).toContain(',"a,""b""",');
    expect(csvRow(aWindow({ startMs: 0, service: "=1+1" }))).toContain(",'=1+1,");
  });
});
