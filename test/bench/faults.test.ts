import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { judge } from "../../bench/faults/judge.ts";
import type { Heard } from "../../bench/faults/judge.ts";
import { FAULTS } from "../../bench/faults/list.ts";
import type { Poll } from "../../bench/stage/poll.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** Answers of two exporters about geo, every 100 ms in turn, by what each says at a time in seconds. */
function heard(
  say: (seconds: number, exporter: number) => number | undefined,
  more: Partial<Heard> = {},
): Heard {
  const polls: Poll[] = [];
  for (let at = 0; at < 10_000; at += 100) {
    const exporter = (at / 100) % 2;
    const value = say(at / 1e3, exporter);
    polls.push({
      atMs: at,
      exporter,
      service: "geo",
      latencyMs: 2 + exporter,
      ...(value === undefined ? { problem: "UNAVAILABLE: gone" } : { value }),
    });
  }
  return { polls, fromMs: 0, toMs: 10_000, needed: new Map([["geo", 6]]), mostReplicas: 20, ...more };
}

describe("answers to KEDA during a fault", () => {
  it("is right when both exporters serve what is needed or more", () => {
    expect(judge(heard((seconds) => (seconds < 5 ? 6 : 8)))).toEqual({
      wrongNumbers: 0,
      scaleDowns: 0,
      unavailableSeconds: 0,
      getMetricsP99Ms: 3,
      firstWrong: undefined,
      firstMissing: undefined,
    });
  });

  it.each([
    ["0", 0],
    ["no number", Number.NaN],
    ["half a replica", 6.5],
    ["more than the most allowed", 21],
    ["fewer than needed", 5],
  ])("is wrong when an exporter says %s", (_what, value) => {
    const { firstWrong, wrongNumbers } = judge(heard((seconds) => (seconds >= 4 && seconds < 5 ? value : 6)));
    expect(wrongNumbers).toBe(10);
    expect(firstWrong).toContain("4.0 s on, exporter 0, geo");
  });

  it("counts each fall below what is needed once for each exporter", () => {
    const verdict = judge(heard((seconds, exporter) => (exporter === 1 && seconds % 4 > 2 ? 4 : 6)));
    expect(verdict.scaleDowns).toBe(2);
  });

  it("is missing only while neither exporter has a number", () => {
    const one = judge(heard((_seconds, exporter) => (exporter === 0 ? undefined : 6)));
    expect(one.unavailableSeconds).toBe(0);
    const both = judge(heard((seconds) => (seconds >= 2 && seconds < 5 ? undefined : 6)));
    expect(both).toMatchObject({ unavailableSeconds: 3, wrongNumbers: 0 });
    expect(both.firstMissing).toContain("UNAVAILABLE: gone");
  });

  it("is wrong from the time on at which an exporter should have grown and has not", () => {
    const growth = { fromMs: 4_000, toMs: 8_000, above: 6 };
    expect(judge(heard((seconds) => (seconds < 3 ? 6 : 7), { growth })).wrongNumbers).toBe(0);
    expect(judge(heard(() => 6, { growth })).wrongNumbers).toBe(41);
    const late = judge(heard((seconds, exporter) => (exporter === 0 || seconds > 5 ? 7 : 6), { growth }));
    expect(late.wrongNumbers).toBe(5);
  });
});

describe("docs/faults.md", () => {
  const doc = read("docs/faults.md");
  /** The tables of faults: the one before the first section explains the figures, laws are not faults. */
  const rows = doc
    .slice(doc.indexOf("\n## "), doc.indexOf("\n## Laws"))
    .split("\n")
    .flatMap((line) => {
      const [, name, ...cells] = line.split("|").map((cell) => cell.trim());
      return name?.startsWith("`") === true
        ? [{ name: name.replaceAll("`", ""), cells: cells.slice(0, -1) }]
        : [];
    });

  it("has one row for each fault of the benchmark, and no other", () => {
    expect(rows.map(({ name }) => name).sort()).toEqual(FAULTS.map(({ name }) => name).sort());
  });

  it("says of each what is done, what users see, what signals it, and what is guaranteed", () => {
    expect(rows.filter(({ cells }) => cells.length !== 4 || cells.includes(""))).toEqual([]);
  });

  it("names only alerts that the chart has", () => {
    const { groups } = parse(read("charts/tradewind/rules/tradewind.yaml")) as {
      groups: readonly { rules: readonly { alert: string }[] }[];
    };
    const alerts = new Set(groups.flatMap(({ rules }) => rules.map(({ alert }) => alert)));
    const named = [...doc.matchAll(/\bTradewind[A-Z]\w+/g)].map(([name]) => name);
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !alerts.has(name))).toEqual([]);
  });

  it("names only metrics that a process has", () => {
    const sources = ["agent", "exporter", "predictor"].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
        .filter((path) => path.endsWith(".ts") && !path.includes("node_modules"))
        .map((path) => read(join(folder, path))),
    );
    const named = [...doc.matchAll(/\btradewind_([a-z_]+)/g)].map(([name]) => name);
    const isKnown = (name: string): boolean =>
      sources.some(
        (text) =>
          text.includes(name) ||
          text.includes(`"${name.replace(/^tradewind_(predictor|agent|source)_/, "")}"`),
      );
    expect(named.filter((name) => !isKnown(name))).toEqual([]);
  });

  it("links only to files that are there", () => {
    const links = [...doc.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, path]) => join(ROOT, "docs", path!));
    expect(links.filter((path) => !existsSync(path))).toEqual([]);
  });
});
