import { describe, expect, it } from "vitest";
import fc from "fast-check";
import { bodyProblem, countValues, limitProblem } from "@tradewind/core/values/json-limits.ts";

const LIMITS = { depth: 3, values: 5 };

describe("a JSON text", () => {
  it.each([
    ["[[[1]]]", undefined],
    ["[[[[1]]]]", "it is nested deeper than 3 brackets"],
    ['{"a":[{"b":1}]}', undefined],
    ['{"a":[{"b":{}}]}', "it is nested deeper than 3 brackets"],
    ["[1,2,3,4,5]", undefined],
    ["[1,2,3,4,5,6]", "it has more than 5 values"],
    ['["[[[[[[,,,,,,,\\"[[[["]', undefined],
    ['["\\\\",[[[1]]]]', "it is nested deeper than 3 brackets"],
    ['"[[[[', undefined],
  ])("%s: %s", (text, problem) => {
    expect(limitProblem(text, LIMITS)).toBe(problem);
  });

  it("within the limits has as many values as are counted in it", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const count = countValues(value, 20_000);
        const text = JSON.stringify(value);
        // Empty lists and objects count once as text, too.
        expect(limitProblem(text, { depth: 32, values: 2 * count })).toBeUndefined();
      }),
    );
  });
});

it("counting values ends at the limit", () => {
  expect(countValues({ a: [1, { b: 2 }] }, 100)).toBe(5);
  expect(countValues(Array.from({ length: 1_000 }), 10)).toBe(1_001);
});

it("a body of brackets alone is answered with 413 and what it may hold", () => {
  const problem = bodyProblem("[".repeat(130_000));
  expect(problem).toMatchObject({
    statusCode: 413,
    message: expect.stringContaining("32 brackets") as string,
  });
  expect(bodyProblem('{"load":1.5}')).toBeUndefined();
});
