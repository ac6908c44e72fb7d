import { describe, expect, it } from "vitest";
import { LastingProblem } from "@tradewind/core/process/lasting-problem.ts";

function problem() {
  const logged: string[] = [];
  const time = { nowMs: 5_000 };
  const note = (level: string) => (facts: { kind: string }) => void logged.push(`${level} ${facts.kind}`);
  const log = { info: note("info"), warn: note("warn") };
  const made = new LastingProblem(log as ConstructorParameters<typeof LastingProblem>[0], () => time.nowMs);
  const found = (kind: string): void => made.found(kind, { kind }, "it happened");
  return { logged, time, found, over: () => made.over() };
}

describe("a problem that is found again and again", () => {
  it("is information once, and a warning once when it has lasted for 30 s", () => {
    const { found, logged, time } = problem();
    for (let second = 0; second < 60; second += 1) {
      found("refused");
      time.nowMs += 1_000;
    }
    expect(logged).toEqual(["info refused", "warn refused"]);
  });

  it("is logged again when it becomes another one, at the level of the time it has been there", () => {
    const { found, logged, time } = problem();
    found("refused");
    found("silent");
    time.nowMs += 30_000;
    found("silent");
    found("refused");
    expect(logged).toEqual(["info refused", "info silent", "warn silent", "warn refused"]);
  });

  it("begins as information when it was over between", () => {
    const { found, logged, over, time } = problem();
    expect(over()).toBe(false);
    found("refused");
    time.nowMs += 60_000;
    expect(over()).toBe(true);
    found("refused");
    expect(logged).toEqual(["info refused", "info refused"]);
  });
});
