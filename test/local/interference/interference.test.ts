import { describe, expect, it } from "vitest";
import { createDisturbance } from "@tradewind/local/interference/disturbance.ts";
import { findProgram } from "@tradewind/local/interference/programs.ts";
import { phasesOf } from "@tradewind/local/load/phases.ts";
import { isAlive } from "@tradewind/local/supervise/run-directory.ts";
import { installed } from "../../installed.ts";
import { waitUntil } from "../../wait-until.ts";

const kinds =
  installed("stress-ng") === undefined ? (["built-in"] as const) : (["built-in", "auto"] as const);
if (kinds.length === 1) {
  // eslint-disable-next-line no-console -- a skip must be seen
  console.warn("SKIPPED: interference from stress-ng, which is not installed");
}

describe("a disturbance", () => {
  it.each(kinds)("runs in its phase alone and leaves no process (%s)", async (kind) => {
    const pids: number[] = [];
    const said: string[] = [];
    const disturbance = createDisturbance({
      phases: phasesOf(150),
      kind,
      searchPath: process.env["PATH"] ?? "",
      onSpawn: (pid) => pids.push(pid),
      say: (text) => said.push(text),
    });
    await disturbance.follow(94);
    expect(pids).toEqual([]);
    await disturbance.follow(96);
    await disturbance.follow(97);
    expect(pids).toHaveLength(1);
    expect(disturbance.source).toBe(kind === "auto" ? "stress-ng" : "built-in hog");
    expect(said).toEqual([`${disturbance.source} disturbs the application for 34 s`]);
    expect(isAlive(pids[0]!)).toBe(true);
    await disturbance.follow(131);
    expect(disturbance.source).toBeUndefined();
    await waitUntil(() => !isAlive(pids[0]!));
    await disturbance.stop();
  });

  it("never starts when it is switched off", async () => {
    const disturbance = createDisturbance({
      phases: phasesOf(150),
      kind: "none",
      searchPath: process.env["PATH"] ?? "",
      onSpawn: () => expect.unreachable(),
      say: () => expect.unreachable(),
    });
    await disturbance.follow(100);
    expect(disturbance.source).toBeUndefined();
  });
});

describe("findProgram", () => {
  it("finds what is on the path and nothing else", () => {
    expect(findProgram("sh", "/nowhere:/bin")).toBe("/bin/sh");
    expect(findProgram("sh", "")).toBeUndefined();
    expect(findProgram("no-such-program", process.env["PATH"] ?? "")).toBeUndefined();
  });
});
