import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PlanSplitter } from "@tradewind/exporter/plans/split-plan.ts";
import { planOf, wishOf } from "../wish.ts";

/** What the splitter makes of a text: the header's value and each wish's, or undefined where it gives up. */
function split(text: string): { header: unknown; wishes: unknown[] } | undefined {
  const body = Buffer.from(text);
  const splitter = new PlanSplitter(body);
  for (const _ of splitter.steps()) continue;
  const found = splitter.result();
  if (found === undefined) return undefined;
  const wishes: unknown[] = [];
  for (let index = 0; index < found.wishEnds.length; index += 2) {
    wishes.push(JSON.parse(body.toString("utf8", found.wishEnds[index], found.wishEnds[index + 1])));
  }
  return { header: JSON.parse(found.headerText), wishes };
}

describe("the splitter of plans", () => {
  it("finds every wish of a long plan, and leaves the rest as it is", () => {
    const plan = planOf(Array.from({ length: 500 }, (_, index) => wishOf({ service: `service-${index}` })));
    expect(split(JSON.stringify(plan))).toEqual({ header: { ...plan, wishes: [] }, wishes: plan.wishes });
  });

  it.each([
    ['{"wishes":[]}', []],
    ['{ "wishes" : [ ] , "a" : 1 }', []],
    ['{"wishes":[1,"two",null,[3],{"wishes":[4]}]}', [1, "two", null, [3], { wishes: [4] }]],
    ['{"x":"wishes","wishes":[",]}",{"a":"\\\\\\"]"}]}', [",]}", { a: '\\"]' }]],
    ['{"a":{"wishes":[1]},"wishes":[2]}', [2]],
    ['{"a":[{"wishes":[1]}],"wishes":[2],"z":["wishes"]}', [2]],
  ])("splits %s", (text, wishes) => {
    const { wishes: _, ...header } = JSON.parse(text) as { wishes: unknown };
    expect(split(text)).toEqual({ header: { ...header, wishes: [] }, wishes });
  });

  it.each([
    "",
    "[]",
    '"wishes"',
    "{}",
    '{"wishes":5}',
    '{"wishes":{}}',
    '{"wishes":[1}',
    '{"wishes":[1,2',
    '{"wishes":["',
    '{"wishes":[1],"wishes":[2]}',
    '{"wish\\u0065s":[1]}',
  ])("leaves %s to be parsed as a whole", (text) => {
    expect(split(text)).toBeUndefined();
  });

  it.each(['{"wishes":[1,]}', '{"wishes":[,1]}', '{"wishes":[1 2]}', '{"wishes":[1]]', '{"wishes":[1]}}'])(
    "hands on what makes %s no JSON",
    (text) => {
      expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
      expect(() => split(text)).toThrow(SyntaxError);
    },
  );

  it("comes to the same as parsing the whole, whatever is in it and wherever its steps end", () => {
    const anything = fc
      .json({ maxDepth: 3, stringUnit: "grapheme" })
      .map((text) => JSON.parse(text) as unknown);
    const padding = fc.integer({ min: 0, max: 70_000 }).map((length) => '\\"'.repeat(length / 2));
    fc.assert(
      fc.property(fc.array(anything), anything, padding, fc.boolean(), (wishes, other, long, first) => {
        const rest = { other, long };
        const document = first ? { wishes, ...rest } : { ...rest, wishes };
        const found = split(JSON.stringify(document));
        expect(found).toEqual(JSON.parse(JSON.stringify({ header: { ...rest, wishes: [] }, wishes })));
      }),
      { numRuns: 60 },
    );
  });
});
