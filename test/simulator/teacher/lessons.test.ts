import { describe, expect, it } from "vitest";
import { STUDENT_PARAMETERS } from "@tradewind/core/contract/students.ts";
import { AT } from "@tradewind/exporter/students/student.ts";
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
    const replicaInputs = pairs.map(({ inputs }) => inputs[2] ?? 0);
    // From one replica of 60 to as many as a silence may come to: 3 times 1, and 4.
    expect(Math.min(...replicaInputs)).toBeCloseTo(1 / 60);
    expect(Math.max(...replicaInputs)).toBeCloseTo(7 / 60);
    const few = pairs.filter(({ inputs }) => inputs[2] === 1 / 60);
    const many = pairs.filter(({ inputs }) => inputs[2] === 7 / 60);
    expect(few.some(({ actions }) => actions[2] > 0.5)).toBe(true);
    expect(many.some(({ actions }) => actions[2] < -0.5)).toBe(true);
    expect(many.some(({ actions }) => actions[2] > 0.5)).toBe(false);
    expect(rewards.length).toBeGreaterThan(15);
    expect(rewards.every((each) => each >= 0 && each <= 1)).toBe(true);
  });
});
