import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "@tradewind/core/clock.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Change } from "@tradewind/core/contract/change.ts";
import { createLog } from "@tradewind/core/log.ts";
import { FIRST_HASH, verifyChain } from "@tradewind/exporter/journal/chain.ts";
import { JournalKeeper } from "@tradewind/exporter/journal/keeper.ts";
import { Journal, openTrail } from "@tradewind/exporter/journal/journal.ts";
import { runningExporter } from "../running-exporter.ts";
import { planOf, wishOf } from "../wish.ts";

const DAY_MS = 86_400_000;

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "tradewind-journal-"));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

const event = (atMs: number, replicas = 4): AuditEvent => ({
  kind: "decision",
  application: "hotel",
  namespace: "shop",
  service: "search",
  atMs,
  decisionId: `d-${atMs}`,
  mode: "act",
  policy: "queue",
  before: { replicas: 3 },
  after: { replicas },
  codes: ["slo-violated"],
  recordHash: "",
});

/** Each at its own time. */
function written(path: string, events: readonly AuditEvent[]): void {
  using journal = new Journal(path);
  for (const each of events) journal.append([each], each.atMs);
}

function verdict(path: string) {
  using trail = openTrail(path);
  return verifyChain(trail.rows(), trail.before);
}

it("a change is known once it is on disk, and what was decided in any case", async () => {
  const path = await directory();
  const counted: string[] = [];
  const keeper = new JournalKeeper(path, {
    clock: systemClock,
    log: createLog("test", "silent"),
    counter: { audited: (result, rows) => counted.push(`${rows} ${result}`) },
  });
  onTestFinished(() => keeper.close());
  const disk = new DatabaseSync(join(path, "journal.sqlite"));
  onTestFinished(() => disk.close());
  const full = "BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'the disk is full'); END";
  disk.exec(`CREATE TRIGGER full ${full}`);
  const of = { application: "hotel", namespace: "shop", service: "search", resource: "replicas" } as const;
  const approved = { ...of, from: 3, to: 9, state: "approved", atMs: 2, change: "0123456789" } as const;
  const change: Change = {
    ...of,
    kind: "size",
    id: "0123456789",
    from: 3,
    to: 9,
    state: "approved",
    proposedAtMs: 1,
    expiresMs: 3,
  };
  const kinds = (): string[] => keeper.recent().map(({ kind }) => kind);
  expect(await keeper.append([event(1)])).toBe(false);
  expect(await keeper.append([{ kind: "change", ...approved }], [change])).toBe(false);
  expect(keeper.problem).toMatch(/the disk is full/);
  expect(kinds()).toEqual(["decision"]);
  disk.exec("DROP TRIGGER full");
  expect(await keeper.append([{ kind: "change", ...approved }], [change])).toBe(true);
  expect(keeper.problem).toBeUndefined();
  expect(kinds()).toEqual(["change", "decision"]);
  expect(counted).toEqual(["1 lost", "1 lost", "1 written"]);
});

describe("the audit trail", () => {
  it("is chained from its first row, also over a restart", async () => {
    const path = await directory();
    written(path, [event(1), event(2)]);
    written(path, [event(3)]);
    expect(verdict(path)).toEqual({ rows: 3, head: expect.not.stringMatching(FIRST_HASH) as string });
  });

  it("refuses to change a row", async () => {
    const path = await directory();
    written(path, [event(1)]);
    const database = new DatabaseSync(join(path, "journal.sqlite"));
    expect(() => database.exec("UPDATE audit SET row = '{}'")).toThrow("append-only");
    database.close();
  });

  it("shows a row that was changed, left out or put in behind its back", async () => {
    const tampers = [
      "UPDATE audit SET row = replace(row, '\"replicas\":4', '\"replicas\":9') WHERE seq = 2",
      "DELETE FROM audit WHERE seq = 2",
      "INSERT INTO audit VALUES (4, 3, '{}', 'aa')",
    ];
    const broken = [2, 3, 4];
    for (const [index, tamper] of tampers.entries()) {
      const path = await directory();
      written(path, [event(1), event(2), event(3)]);
      const database = new DatabaseSync(join(path, "journal.sqlite"));
      database.exec("DROP TRIGGER audit_is_append_only");
      database.exec(tamper.replace("'aa'", `'${"a".repeat(64)}'`));
      database.close();
      expect(verdict(path).brokenAt).toBe(broken[index]);
    }
  });

  it("leaves rows out after 90 days, and is sound without them", async () => {
    const path = await directory();
    written(path, [event(0), event(DAY_MS), event(94 * DAY_MS), event(95 * DAY_MS)]);
    expect(verdict(path)).toMatchObject({ rows: 2 });
    expect(verdict(path).brokenAt).toBeUndefined();
  });

  it("keeps its rows when the wall clock is set years ahead, before a restart, after it and meanwhile", async () => {
    const path = await directory();
    const clock = {
      wallMs: 100 * DAY_MS,
      ranMs: 0,
      nowMs: () => clock.wallMs,
      monotonicMs: () => clock.ranMs,
    };
    const write = async (hours: number): Promise<void> => {
      const keeper = new JournalKeeper(path, {
        clock,
        log: createLog("test", "silent"),
        counter: { audited: () => undefined },
      });
      for (let hour = 0; hour < hours; hour += 1) {
        clock.wallMs += 3_600_000;
        clock.ranMs += 3_600_000;
        expect(await keeper.append([event(clock.wallMs)])).toBe(true);
        if (hour === 0) clock.wallMs += 3_650 * DAY_MS;
      }
      await keeper.close();
    };
    await write(3);
    expect(verdict(path)).toMatchObject({ rows: 3 });
    clock.wallMs = 101 * DAY_MS;
    await write(1);
    await write(3);
    expect(verdict(path)).toMatchObject({ rows: 7 });
    expect(verdict(path).brokenAt).toBeUndefined();
  });

  it("has every decision that changed a size, can be printed and checked, and breaks by one changed byte", async () => {
    const state = await directory();
    const exporter = await runningExporter(planOf([wishOf()]), { state });
    exporter.predictor.serve(planOf([wishOf({ allocation: { replicas: 7 } })], { sequence: 2 }));
    await exporter.listWhen("7 replicas", ({ recommendations: [first] }) => first?.replicas === 7);
    exporter.predictor.serve(planOf([wishOf({ allocation: { replicas: 7 } })], { sequence: 3 }));
    await exporter.listWhen("the third plan", ({ predictor }) => predictor.lastPlanAgeSeconds !== undefined);
    await exporter.running.stop();
    const run = async (...args: string[]) =>
      promisify(execFile)(process.execPath, ["cli/main.ts", "audit", ...args], { encoding: "utf8" });
    const { stdout } = await run("export", "--state", state);
    const rows = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse((JSON.parse(line) as { row: string }).row) as AuditEvent);
    expect(rows.map((each) => each.kind === "decision" && each.after.replicas)).toEqual([5, 7]);
    expect((await run("verify", "--state", state)).stdout).toMatch(
      /^2 rows follow from one another; head [0-9a-f]{64}\n$/,
    );
    const file = join(state, "audit.jsonl");
    await writeFile(file, stdout.replace('\\"replicas\\":7', '\\"replicas\\":8'));
    await expect(run("verify", "--file", file)).rejects.toThrow("row 2 does not follow from those before it");
    await writeFile(file, stdout.replace('\\"replicas\\":5', '\\"replicas\\":6'));
    await expect(run("verify", "--file", file)).rejects.toThrow("row 1 does not follow from those before it");
    await writeFile(file, stdout.split("\n").slice(1).join("\n"));
    expect((await run("verify", "--file", file)).stdout).toContain(
      "row 2, the first, has nothing to follow from",
    );
    await writeFile(file, "");
    await expect(run("verify", "--file", file)).rejects.toThrow("has no rows");
  });
});
