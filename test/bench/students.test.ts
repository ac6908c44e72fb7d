import { STUDENT_PARAMETERS } from "@tradewind/core/contract/students.ts";
import { AT } from "@tradewind/core/students/student.ts";
import type { LiveLesson } from "@tradewind/simulator/teacher/live-lessons.ts";
import { describe, expect, it } from "vitest";
import { agreementInUse } from "../../bench/students/deployments.ts";
import { SECONDS, surgeAfterKill } from "../../bench/students/local-run.ts";

/** Adds replicas whatever it sees. */
const GROWING = new Float64Array(STUDENT_PARAMETERS);
GROWING[AT.lastBias + 2] = Math.atanh(0.75);
const STILL = new Float64Array(STUDENT_PARAMETERS);

describe("students that go on learning", () => {
  it("are judged moment by moment by the student that was in use then", () => {
    const lesson = (parameters: Float64Array, replicas: number): LiveLesson => ({
      service: "cart",
      atSeconds: 0,
      inputs: [1, 1, 1, 1, 1],
      actions: [0, 0, replicas],
      parameters,
    });
    const judged = agreementInUse([
      lesson(STILL, 0),
      lesson(STILL, 0.9),
      lesson(GROWING, 0.9),
      lesson(GROWING, 0.9),
    ]);
    expect(judged.pairs).toBe(4);
    expect(judged.agreement).toBeCloseTo(3 / 4, 12);
    expect(judged.agreementWhenActing).toBeCloseTo(2 / 3, 12);
  });
});

describe("the load of a run whose predictor is killed", () => {
  it("is calm for 46 s of 345, rises with the kill, and stays up for as long as in the shipped trace", () => {
    const load = surgeAfterKill();
    const secondsOf = (of: (rate: number) => boolean): number =>
      (SECONDS / load.length) * load.filter((rate) => of(rate)).length;
    expect(load.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 27));
    expect(load[20]).toBe(45);
    // Eighteen of the sixty values of 430 s are above 90: 129 s; here within one value of them.
    expect(Math.abs(secondsOf((rate) => rate > 90) - 129)).toBeLessThan(8);
    expect(load.at(-1)).toBe(27);
  });
});
