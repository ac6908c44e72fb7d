import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "@tradewind/core/process/clock.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Change } from "@tradewind/core/contract/change.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { verifyChain } from "@tradewind/exporter/keep/journal/chain.ts";
import type { Head } from "@tradewind/exporter/keep/journal/chain.ts";
import { JournalKeeper } from "@tradewind/exporter/keep/journal/keeper.ts";
import { chained, FIRST_HASH } from "@tradewind/exporter/keep/journal/hashes.ts";
import { Journal, openTrail } from "@tradewind/exporter/keep/journal/journal.ts";
import { runningExporter } from "../../running-exporter.ts";
import { until } from "../../until.ts";
import { planOf, wishOf } from "../../wish.ts";

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
  recordHash: "0".repeat(64),
});

/** Each at its own time. */
function written(path: string, events: readonly AuditEvent[]): void {
  using journal = new Journal(path);
  for (const each of events) journal.append([each], each.atMs);
}

function verdict(path: string, noted?: Head) {
  using trail = openTrail(path);
  return verifyChain(trail.rows(), { noted, changes: trail.changes() });
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
    expect(verdict(path)).toEqual({
      rows: 3,
      firstSeq: 1,
      lastSeq: 3,
      head: expect.not.stringMatching(FIRST_HASH) as string,
    });
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
      expect(verdict(path).problem).toEqual({ code: "broken", seq: broken[index] });
    }
  });

  it("leaves rows out after 90 days, and is sound without them", async () => {
    const path = await directory();
    written(path, [event(0), event(DAY_MS), event(94 * DAY_MS), event(95 * DAY_MS)]);
    expect(verdict(path)).toMatchObject({
      rows: 3,
      firstSeq: 3,
      leftOut: { why: "age", untilSeq: 2, atMs: 94 * DAY_MS },
    });
    expect(verdict(path).problem).toBeUndefined();
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
    expect(verdict(path).problem).toBeUndefined();
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
      /^2 rows follow from one another, 1 to 2; head [0-9a-f]{64}\n$/,
    );
    const file = join(state, "audit.jsonl");
    await writeFile(file, stdout.replace('\\"replicas\\":7', '\\"replicas\\":8'));
    await expect(run("verify", "--file", file)).rejects.toThrow("row 2 does not follow from those before it");
    await writeFile(file, stdout.replace('\\"replicas\\":5', '\\"replicas\\":6'));
    await expect(run("verify", "--file", file)).rejects.toThrow("row 1 does not follow from those before it");
    await writeFile(file, stdout.split("\n").slice(1).join("\n"));
    await expect(run("verify", "--file", file)).rejects.toThrow("the rows before 2 are missing");
    await writeFile(file, stdout);
    const { hash, seq } = JSON.parse(stdout.split("\n")[0]!) as Head;
    const noted = ["--head", hash, "--seq", String(seq)];
    expect((await run("verify", "--file", file, ...noted)).stdout).toContain("2 rows follow");
    await expect(run("verify", "--file", file, "--head", "a".repeat(64), "--seq", "2")).rejects.toThrow(
      "row 2 of the head is not in the trail",
    );
    await writeFile(file, "");
    await expect(run("verify", "--file", file)).rejects.toThrow("has no rows");
  });
});

/** A change of `search` from 3 to 9 replicas that waits or was decided on, and the audit event of it. */
function changeOf(id: string, state: "approved" | "awaiting" = "awaiting", proposedAtMs = 1) {
  const of = { application: "hotel", namespace: "shop", service: "search", resource: "replicas" } as const;
  const common = { ...of, from: 3, to: 9, state } as const;
  const change: Change = { ...common, kind: "size", id, proposedAtMs, expiresMs: 10 * DAY_MS };
  const happened: AuditEvent = { ...common, kind: "change", change: id, atMs: proposedAtMs };
  return { change, happened };
}

/** Writes into the file behind the journal's back. */
function tamper(path: string, use: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(join(path, "journal.sqlite"));
  database.exec("DROP TRIGGER IF EXISTS audit_is_append_only");
  use(database);
  database.close();
}

/** All rows again with hashes that follow from one another, after `edit` has changed some. */
function rewritten(database: DatabaseSync, edit: (row: string) => string): void {
  let hash = FIRST_HASH;
  const rows = database.prepare("SELECT seq, row FROM audit ORDER BY seq").all();
  for (const { row, seq } of rows) {
    const text = edit(String(row));
    hash = chained(hash, text);
    database.prepare("UPDATE audit SET row = ?, hash = ? WHERE seq = ?").run(text, hash, seq!);
  }
}

describe("a head that was noted elsewhere", () => {
  /** A trail of ten rows. @returns its directory and the heads after each row */
  async function ten(): Promise<{ path: string; heads: Head[] }> {
    const path = await directory();
    using journal = new Journal(path);
    const heads = Array.from({ length: 10 }, (_, index) => journal.append([event(index + 1)], index + 1)!);
    return { path, heads };
  }

  it("is contained by the trail that it was noted of, and by what follows from it", async () => {
    const { heads, path } = await ten();
    for (const head of heads) expect(verdict(path, head)).toMatchObject({ rows: 10, lastSeq: 10 });
    for (const head of heads) expect(verdict(path, head).problem).toBeUndefined();
  });

  it.each<[string, (database: DatabaseSync) => void, string]>([
    [
      "one row is changed",
      (database) => database.exec("UPDATE audit SET row = replace(row, '4', '9') WHERE seq = 3"),
      "broken",
    ],
    [
      "the first 6 rows are removed and the hash before the others is set",
      (database) => {
        database.exec("INSERT OR REPLACE INTO meta SELECT 'before', hash FROM audit WHERE seq = 6");
        database.exec("DELETE FROM audit WHERE seq <= 6");
      },
      "rows-missing",
    ],
    [
      "the last 4 rows are removed",
      (database) => database.exec("DELETE FROM audit WHERE seq > 6"),
      "head-missing",
    ],
    ["all rows are removed", (database) => database.exec("DELETE FROM audit"), "head-missing"],
    [
      "all rows are written again with new hashes",
      (database) =>
        rewritten(database, (row) => row.replace('"after":{"replicas":4}', '"after":{"replicas":9}')),
      "head-missing",
    ],
  ])("shows that %s", async (_what, forge, code) => {
    const { heads, path } = await ten();
    tamper(path, forge);
    expect(verdict(path, heads.at(-1))).toMatchObject({ problem: { code } });
  });

  it("is asked to be a newer one once retention has left its row out, and is known as the last of those left out", async () => {
    const path = await directory();
    using journal = new Journal(path);
    const heads = [0, DAY_MS, 94 * DAY_MS, 95 * DAY_MS].map((atMs) => journal.append([event(atMs)], atMs)!);
    expect(verdict(path, heads[0])).toMatchObject({ problem: { code: "head-left-out", seq: 1 } });
    expect(verdict(path, heads[1]).problem).toBeUndefined();
    expect(verdict(path, { ...heads[1]!, hash: "a".repeat(64) })).toMatchObject({
      problem: { code: "head-missing" },
    });
  });
});

describe("changes that wait or are approved", () => {
  it.each<[string, string, string]>([
    [
      "approved by hand",
      `UPDATE changes SET change = replace(change, 'awaiting', 'approved')`,
      "change-differs",
    ],
    [
      "put in by hand",
      `INSERT INTO changes SELECT '00000000ff', at_ms, change FROM changes WHERE id = '0000000001'`,
      "change-differs",
    ],
    ["removed by hand", `DELETE FROM changes WHERE id = '0000000001'`, "change-missing"],
  ])("are seen by verify when they are %s", async (_how, sql, code) => {
    const path = await directory();
    for (const id of ["0000000001", "0000000002"]) {
      using journal = new Journal(path);
      const { change, happened } = changeOf(id);
      journal.append([happened], 1, [change]);
    }
    expect(verdict(path).problem).toBeUndefined();
    tamper(path, (database) => database.exec(sql));
    expect(verdict(path)).toMatchObject({ problem: { code } });
  });

  it("follow from the trail through every state, also when several are written at once, and when old ones are left out", async () => {
    const path = await directory();
    using journal = new Journal(path);
    const [waits, approved] = [changeOf("0000000001"), changeOf("0000000001", "approved")];
    journal.append([waits.happened, approved.happened], 1, [waits.change, approved.change]);
    expect(journal.changes().things).toMatchObject([{ state: "approved" }]);
    expect(verdict(path).problem).toBeUndefined();
    for (const atMs of [DAY_MS, 5 * DAY_MS, 6 * DAY_MS]) journal.append([event(atMs)], atMs);
    expect(journal.changes().things).toEqual([]);
    expect(verdict(path).problem).toBeUndefined();
  });
});

describe("a journal of an earlier release", () => {
  /** As releases wrote it whose chain did not hold changes and said nothing of rows left out: rows 3 and 4 are left. */
  async function earlier(): Promise<string> {
    const path = await directory();
    const database = new DatabaseSync(join(path, "journal.sqlite"));
    database.exec(`
      CREATE TABLE audit (seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, row TEXT NOT NULL, hash TEXT NOT NULL) STRICT;
      CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
      CREATE TABLE changes (id TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, change TEXT NOT NULL) STRICT;
      CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
    `);
    const { change, happened } = changeOf("0000000001", "approved", 4);
    let hash = "b".repeat(64);
    database.prepare("INSERT INTO meta VALUES ('before', ?)").run(hash);
    for (const [index, each] of [event(3), happened].entries()) {
      const row = JSON.stringify(each);
      hash = chained(hash, row);
      database.prepare("INSERT INTO audit VALUES (?, ?, ?, ?)").run(index + 3, each.atMs, row, hash);
    }
    database.prepare("INSERT INTO changes VALUES (?, ?, ?)").run(change.id, 4, JSON.stringify(change));
    database.close();
    return path;
  }

  it("is taken over once, with its rows and approvals, and goes on", async () => {
    const path = await earlier();
    expect(verdict(path)).toMatchObject({ problem: { code: "rows-missing", seq: 3 } });
    for (const atMs of [5, 6]) {
      using journal = new Journal(path);
      expect(journal.changes()).toMatchObject({ things: [{ state: "approved" }], unreadable: 0 });
      journal.append([event(atMs)], atMs);
      expect(journal.newest(10)).toMatchObject({ unreadable: 0 });
    }
    expect(verdict(path)).toMatchObject({ rows: 5, firstSeq: 3, leftOut: { why: "upgrade", untilSeq: 2 } });
    expect(verdict(path).problem).toBeUndefined();
    tamper(path, (database) => database.exec("UPDATE changes SET change = replace(change, '9', '99')"));
    expect(verdict(path)).toMatchObject({ problem: { code: "change-differs" } });
  });
});

it("one unreadable change and one unreadable row lose themselves alone, and are counted and kept", async () => {
  const path = await directory();
  {
    using journal = new Journal(path);
    for (const id of ["0000000001", "0000000002", "0000000003"]) {
      const { change, happened } = changeOf(id, "approved");
      journal.append([happened], 1, [change]);
    }
  }
  tamper(path, (database) => {
    database.exec("UPDATE changes SET change = substr(change, 2) WHERE id = '0000000001'");
    database.exec("UPDATE changes SET change = '{}' WHERE id = '0000000002'");
    database.exec("UPDATE audit SET row = 'not JSON' WHERE seq = 2");
  });
  const counted: string[] = [];
  const keeper = new JournalKeeper(path, {
    clock: systemClock,
    log: createLog("test", "silent"),
    counter: { audited: (result, rows) => counted.push(`${rows} ${result}`) },
  });
  onTestFinished(() => keeper.close());
  expect(keeper.changes().map(({ id }) => id)).toEqual(["0000000003"]);
  expect(keeper.recent()).toHaveLength(2);
  expect(counted).toEqual(["2 unreadable", "1 unreadable"]);
  expect(keeper.problem).toBeUndefined();
  const database = new DatabaseSync(join(path, "journal.sqlite"));
  onTestFinished(() => database.close());
  expect(database.prepare("SELECT count(*) AS rows FROM changes").get()).toEqual({ rows: 3 });
});

it("the log says the newest row at the start, every so often while rows come, and at the end", async () => {
  const path = await directory();
  written(path, [event(1)]);
  const said: Head[] = [];
  const log = {
    info: ({ head, seq }: { head: string; seq: number }) => said.push({ seq, hash: head }),
  } as unknown as Logger;
  const counter = { audited: () => undefined };
  const keeper = new JournalKeeper(path, { clock: systemClock, log, counter, publishMs: 5 });
  await keeper.append([event(2)]);
  await until("the second row", () => said.length === 2);
  await keeper.append([event(3)]);
  await keeper.close();
  expect(said.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  for (const head of said) expect(verdict(path, head).problem).toBeUndefined();
});

describe("rows of the audit trail as they are exported", () => {
  const reason = {
    code: "grow-missed",
    text: "p95 is 603 ms: 3 → 4 replicas",
    facts: { latencySeconds: 0.603 },
  };
  const outcome = { code: "outcome-met", text: "3 windows later p95 is 150 ms", facts: { windows: 3 } };
  const audit = async (...args: readonly string[]) =>
    promisify(execFile)(process.execPath, ["cli/main.ts", "audit", ...args]);

  it("have the reason of a decision beside it and the outcome of a later row, and can be verified as a file", async () => {
    const path = await directory();
    const decided = { ...event(1_000), reason };
    const { application, decisionId, namespace, service } = event(1_000) as Extract<
      AuditEvent,
      { kind: "decision" }
    >;
    const came = {
      kind: "outcome",
      application,
      namespace,
      service,
      atMs: 46_000,
      decisionId,
      outcome,
    } as const;
    written(path, [decided, event(2_000, 5), came]);
    const { stdout } = await audit("export", "--state", path);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ reason: why, outcome: then }) => [why, then])).toEqual([
      [reason, outcome],
      [undefined, undefined],
      [undefined, undefined],
    ]);
    const file = join(path, "audit.jsonl");
    await writeFile(file, stdout);
    expect((await audit("verify", "--file", file)).stdout).toContain("3 rows follow");
    await writeFile(
      file,
      stdout.replace(',"reason":{"code":"grow-missed"', ',"reason":{"code":"shrink-met"'),
    );
    await expect(audit("verify", "--file", file)).rejects.toThrow("row 1 does not follow");
  });
});
