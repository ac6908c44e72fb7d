import { describe, expect, it } from "vitest";
import { STUDENT_PARAMETERS } from "@tradewind/core/contract/students.ts";
import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import { Student } from "@tradewind/core/students/student.ts";
import { agreementOf, gradientOf, trainStudent } from "@tradewind/core/students/train-student.ts";
import type { Pair } from "@tradewind/core/students/train-student.ts";

/** Eq. 9 of one pair: the mean squared difference of the actions. */
function loss(parameters: Float64Array, { actions, inputs }: Pair): number {
  const { cpu, memory, replicas } = new Student(parameters).act(inputs);
  return [cpu, memory, replicas].reduce((sum, act, i) => sum + (act - (actions[i] ?? 0)) ** 2 / 3, 0);
}

describe("the training of a student", () => {
  it("follows the gradient that finite differences give, in every one of the 643 parameters", () => {
    const rng = seededRng(3);
    const parameters = Float64Array.from({ length: STUDENT_PARAMETERS }, () => 0.4 * standardNormal(rng));
    const pair: Pair = { inputs: [0.9, 0.4, 0.1, 2.5, 3.1], actions: [0, -0.8, 0.9] };
    const gradient = gradientOf(parameters, pair);
    const step = 1e-6;
    for (let i = 0; i < STUDENT_PARAMETERS; i += 1) {
      const at = (sign: number): number => {
        const moved = parameters.slice();
        moved[i] = (moved[i] ?? 0) + sign * step;
        return loss(moved, pair);
      };
      expect(gradient[i], `parameter ${i}`).toBeCloseTo((at(1) - at(-1)) / (2 * step), 5);
    }
  });

  it("Eq. 9: the squared difference of the actions; of a student that does nothing 0.36 and 0.81 over three", () => {
    const pair: Pair = { inputs: [1, 1, 1, 1, 1], actions: [0.6, 0, -0.9] };
    const { agreement, mse } = agreementOf(new Float64Array(STUDENT_PARAMETERS), [pair]);
    expect(mse).toBeCloseTo((0.36 + 0.81) / 3, 12);
    expect(agreement).toBe(0);
    expect(loss(new Float64Array(STUDENT_PARAMETERS), pair)).toBeCloseTo(mse, 12);
  });

  it("learns a rule from examples: more replicas from 80 % CPU on, fewer below 20 %", () => {
    const rng = seededRng(4);
    const pairs = Array.from({ length: 2_000 }, (): Pair => {
      const inputs = Array.from({ length: 5 }, () => rng());
      const [cpu = 0] = inputs;
      return { inputs, actions: [0, 0, cpu > 0.8 ? 0.9 : cpu < 0.2 ? -0.8 : 0] };
    });
    const parameters = trainStudent(pairs.slice(0, 1_500), { epochs: 100, rng: seededRng(5) });
    const { agreement, agreementWhenActing } = agreementOf(parameters, pairs.slice(1_500));
    expect(agreement).toBeGreaterThan(0.9);
    expect(agreementWhenActing).toBeGreaterThan(0.85);
    expect(trainStudent(pairs.slice(0, 100), { epochs: 2, rng: seededRng(6) })).toEqual(
      trainStudent(pairs.slice(0, 100), { epochs: 2, rng: seededRng(6) }),
    );
  });
});
