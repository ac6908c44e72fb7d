import { describe, expect, it } from "vitest";
import { STUDENT_PARAMETERS } from "@tradewind/core/contract/students.ts";
import { AT } from "@tradewind/core/students/student.ts";
import { gatherPairs } from "@tradewind/simulator/teacher/lessons.ts";
import { heldOutPlant } from "@tradewind/simulator/teacher/plants.ts";

/** A student that adds half of the replicas whatever it sees. */
function growing(): Float64Array {
  const p = new Float64Array(STUDENT_PARAMETERS);
  p[AT.lastBias + 2] = Math.atanh(0.75);
  return p;
}

describe("lessons of a silence", () => {
  it("are of what the student that drives has come to, and say what the planner would do there", async () => {
    const rewards: number[] = [];
    const pairs = await gatherPairs(heldOutPlant(300), {
      actuators: "replicas",
      parameters: growing(),
      seed: 300,
      onReward: (each) => rewards.push(each),
    });
    // The third input is what was planned over what is decided on: 1 until the student adds.
    const shares = pairs.map(({ inputs }) => inputs[2] ?? 0);
    expect(shares.every((share) => share > 0 && share <= 1)).toBe(true);
    expect(new Set(shares).size).toBeGreaterThan(1);
    expect(pairs.some(({ actions }) => actions[2] > 0.5)).toBe(true);
    expect(rewards.length).toBeGreaterThan(15);
    expect(rewards.every((each) => each >= 0 && each <= 1)).toBe(true);
  });
});
