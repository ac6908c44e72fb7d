import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { COMMANDS } from "@tradewind/cli/commands.ts";
import { Plan } from "@tradewind/core/contract/plan.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { HISTORY_FILE } from "@tradewind/predictor/store/history-file.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { APPLICATION, recording } from "../simulator/backtest/recording.ts";
import { RunningRelease } from "./running-release.ts";
import { tradewind } from "./tradewind.ts";

/** A command with its options and help, and those below it. */
async function configured(name: string): Promise<Command[]> {
  const command = new Command(name);
  (await COMMANDS.find((each) => each.name === name)!.load()).configure(command);
  return [command, ...command.commands];
}

describe("every command", () => {
  it.each(COMMANDS.map(({ name }) => [name]))("%s --help has an example", async (name) => {
    const [command] = await configured(name);
    let help = "";
    command!.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    expect(help).toContain("Examples:\n");
    expect(help).toMatch(new RegExp(`^ +(\\$ )?tradewind ${name}\\b`, "m"));
  });

  it.each(COMMANDS.map(({ name, summary }) => [name, summary]))(
    "%s says what it does in the imperative, in the list and in its help",
    async (name, summary) => {
      const [command] = await configured(name);
      const thirdPerson = /^\w+(?<!s)s (a|an|every|the|what|why|policies|large|load)\b/;
      expect(summary).not.toMatch(thirdPerson);
      expect(command!.description()).toMatch(/^[A-Z].*\.$/);
      expect(command!.description()).not.toMatch(thirdPerson);
    },
  );

  it.each(["status", "explain", "what-if", "replay", "backtest", "approve", "doctor", "report"])(
    "%s documents its exit codes by the one rule, and takes --json",
    async (name) => {
      const [command] = await configured(name);
      let help = "";
      command!.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
      expect(help).toMatch(
        /Exit codes: 0 [^;]+; 1 [^;]+; 2 the command line, or a file that it names, must be changed/,
      );
      expect(command!.options.map(({ long }) => long)).toContain("--json");
    },
  );
});

describe("beside a running predictor and scaler", () => {
  let release: RunningRelease;
  const predictorUrl = (): string => release.predictorUrl;
  const scalerUrl = (): string => release.scalerUrl;

  beforeAll(async () => {
    release = await RunningRelease.start();
  }, 60_000);
  afterAll(async () => release.stop());

  const decisionId = async (): Promise<string> => {
    const { stdout } = await tradewind("status", "--scaler", scalerUrl(), "--json");
    return (JSON.parse(stdout) as { recommendations: { decisionId: string }[] }).recommendations[0]!
      .decisionId;
  };
  const from = { predictor: () => ["--predictor", predictorUrl()], scaler: () => ["--scaler", scalerUrl()] };

  it.each<[string, () => Promise<string[]> | string[], string[]]>([
    ["status", () => from.scaler(), ["recommendations"]],
    ["explain", () => from.predictor(), ["causes"]],
    ["what-if", () => [...from.predictor(), "--load", "1.5"], ["routes", "costPerHour"]],
    ["routes", () => from.predictor(), ["routes", "surprises"]],
    ["sensitivities", () => from.predictor(), ["services"]],
    ["proposals", () => from.predictor(), ["proposals"]],
    ["replay", async () => [await decisionId(), ...from.scaler()], ["same", "sha256"]],
    ["approve", () => from.scaler(), ["changes"]],
    ["doctor", () => [...from.predictor(), ...from.scaler()], ["healthy", "findings"]],
    ["report", () => [...from.predictor(), ...from.scaler()], ["requests", "cost", "mode"]],
  ])(
    "%s prints a table or sentences, and with --json one JSON object and nothing else",
    async (name, given, fields) => {
      const args = await given();
      const text = await tradewind(name, ...args);
      expect({ code: text.code, stderr: text.stderr }).toEqual({ code: 0, stderr: "" });
      // eslint-disable-next-line no-control-regex -- no colours where standard output is no terminal
      expect(text.stdout).not.toMatch(/\u001b\[/);
      expect(text.stdout).toMatch(/\S[^\n]*\n$/);
      const { code, stderr, stdout } = await tradewind(name, ...args, "--json");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout.trimEnd().split("\n")).toHaveLength(1);
      expect(Object.keys(JSON.parse(stdout) as object)).toEqual(expect.arrayContaining(fields));
    },
  );

  /** Replicas that the decision in force started from. */
  async function startedFrom(service: string): Promise<number | undefined> {
    const [, predictor = ""] = from.predictor();
    const response = await fetch(new URL("/v1/plan", predictor), { signal: AbortSignal.timeout(5_000) });
    const { wishes } = Plan.parse(await response.json());
    return wishes.find((each) => each.service === service)?.evidence["baseReplicas"];
  }

  it("what-if answers for one more replica, says what it would cost, and changes nothing", async () => {
    const asked = ["what-if", ...from.predictor(), "--service", "geo", "--replicas", "+1"];
    const { stdout } = await tradewind(...asked);
    expect(stdout).toMatch(
      /^p95 of the slowest route would be [\d.]+ m?s \(now [\d.]+ m?s\), objective 100 ms: (met|missed)\.\nCost: /,
    );
    // Of a decision that may be made between two questions, and not of what was asked before.
    const before = await startedFrom("geo");
    const again = await tradewind(...asked);
    const after = await startedFrom("geo");
    for (const text of [stdout, again.stdout]) {
      const [, now, then] = /^geo +(\d+) → (\d+) /m.exec(text) ?? [];
      expect(Number(then)).toBe(Number(now) + 1);
    }
    expect([before, after]).toContain(Number(/^geo +(\d+) /m.exec(again.stdout)?.[1]));
  });

  it.each([
    [["what-if", "--replicas", "3"], 2, "give --service"],
    [["what-if", "--service", "geo", "--replicas", "many"], 2, "write a number such as 3, +1 or -1"],
    [["what-if", "--service", "geo", "--replicas", "0"], 2, "replicas"],
    [["what-if", "--load", "0"], 2, "load"],
    [["what-if", "--service", "none", "--replicas", "2"], 1, "'none'"],
    [["report", "--from", "1h", "--to", "2h"], 2, "`from` before `to`"],
    [["report", "--from", "2d", "--to", "1d"], 1, "no window of that time is stored"],
  ])("%s ends with %i and says why", async (args, code, words) => {
    const result = await tradewind(...args, ...from.predictor());
    expect(result.stderr).toContain(words);
    expect(result.code).toBe(code);
    expect(result.stdout).toBe("");
  });

  it("report says what was measured, and that the scaler did not answer", async () => {
    const { code, stdout } = await tradewind("report", ...from.predictor(), "--scaler", "http://127.0.0.1:1");
    expect(code).toBe(0);
    expect(stdout).toMatch(/Objective: missed for \d+ s of \d+ s/);
    expect(stdout).toMatch(/^Cost: \d/m);
    expect(stdout).toContain("Acting: not known, scaler (http://127.0.0.1:1)");
  });
});

it("backtest prints a table, and with --json one JSON object and nothing else", async () => {
  const directory = await mkdtemp(join(tmpdir(), "tradewind-backtest-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const config = join(directory, "app.json");
  await writeFile(config, JSON.stringify(APPLICATION));
  const store = new SqliteStore({ path: join(directory, HISTORY_FILE), log: createLog("test", "silent") });
  for (const set of recording(80)) store.append(set);
  await store.flush();
  await store.close();
  const args = ["backtest", "--config", config, "--state", directory, "--policies", "static"];
  const text = await tradewind(...args);
  expect(text).toMatchObject({ code: 0 });
  expect(text.stdout).toMatch(/^policy +source +requests over/m);
  const { code, stdout } = await tradewind(...args, "--json");
  expect(code).toBe(0);
  expect(stdout.trimEnd().split("\n")).toHaveLength(1);
  expect(Object.keys(JSON.parse(stdout) as object)).toEqual(expect.arrayContaining(["policies", "recorded"]));
});
