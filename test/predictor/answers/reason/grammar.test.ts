import {
  FORMAT_CHECKS,
  parseTranscript,
  renderTranscript,
} from "@tradewind/predictor/answers/reason/grammar.ts";
import type { Transcript } from "@tradewind/predictor/answers/reason/grammar.ts";
import { FAULT_TYPES } from "@tradewind/predictor/answers/reason/signals.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const ANSWER: Transcript = {
  think: "Service 3 is slow itself: 0.31 s against 0.1 s.",
  faults: [
    {
      id: 3,
      type: "C",
      evidence: [
        { signal: "throttledRatio", value: 0.41 },
        { signal: "selfTimeP95", value: 0.31 },
      ],
      confidence: 0.8,
    },
  ],
  counterfactuals: [
    {
      id: 3,
      resource: "cpu",
      from: 0.5,
      to: 0.9,
      expected: "better",
      tailSeconds: 0.27,
      why: "it is throttled",
    },
  ],
  roots: [{ id: 3, type: "C" }],
};

const text = renderTranscript(ANSWER);

const anyTranscript: fc.Arbitrary<Transcript> = fc.record({
  think: fc.stringMatching(/^[a-z]{1,9}( [a-z]{1,9}){0,20}$/),
  faults: fc.array(
    fc.record({
      id: fc.nat(500),
      type: fc.constantFrom(...FAULT_TYPES),
      evidence: fc.array(
        fc.record({
          signal: fc.constant("errorRatio"),
          value: fc.double({ noNaN: true, noDefaultInfinity: true }),
        }),
        { maxLength: 5 },
      ),
      confidence: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    { maxLength: 5 },
  ),
  counterfactuals: fc.constant(ANSWER.counterfactuals),
  roots: fc.array(fc.record({ id: fc.nat(500), type: fc.constantFrom(...FAULT_TYPES) }), { maxLength: 3 }),
});

describe("the four tagged stages", () => {
  it("come back from their text as they were", () => {
    fc.assert(
      fc.property(anyTranscript, (transcript) => {
        const parsed = parseTranscript(renderTranscript(transcript));
        expect(parsed).toMatchObject({ invalid: 0, problems: [] });
        // JSON knows no -0.
        expect(parsed.transcript).toEqual(JSON.parse(JSON.stringify(transcript)));
      }),
    );
  });

  it("may name no cause", () => {
    expect(parseTranscript(renderTranscript({ ...ANSWER, roots: [] })).transcript?.roots).toEqual([]);
  });

  it("are read where a model talks around them", () => {
    expect(parseTranscript(`Sure!\n\`\`\`\n${text}\n\`\`\``).transcript).toEqual(ANSWER);
  });

  it.each([
    ["a missing tag", text.replace("<root>", ""), 5],
    ["an empty stage", text.replace(ANSWER.think, " "), 1],
    ["a tag inside another", text.replace("Service 3", "<root>Service 3"), 4],
    ["tags in another order", text.split("\n").toReversed().join("\n"), 1],
    ["a tag twice", `${text}\n${text}`, 1],
    ["a number that is none", text.replace('"confidence":0.8', '"confidence":NaN'), 1],
    ["a confidence above 1", text.replace('"confidence":0.8', '"confidence":80'), 1],
    ["an unknown type", text.replace('"type":"C"', '"type":"Q"'), 1],
    ["an unknown field", text.replace('"id":3', '"execute":"rm","id":3'), 1],
    ["a change to more than there can be", text.replace('"to":0.9', '"to":1e16'), 1],
    ["nothing", "", 16],
  ])("are refused whole with %s", (_name, answer, invalid) => {
    const parsed = parseTranscript(answer);
    expect(parsed.transcript).toBeUndefined();
    expect(parsed.invalid).toBe(invalid);
  });

  it("never throw, and are refused or read, whatever the text", () => {
    const pieces = fc.constantFrom(
      "<think>",
      "</think>",
      "<Fault>",
      "</Fault>",
      "<root>",
      "</root>",
      "[]",
      "{",
      "x",
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(pieces, fc.string()), { maxLength: 20 }), (parts) => {
        const { invalid, transcript } = parseTranscript(parts.join(""));
        expect(transcript === undefined).toBe(invalid > 0);
        expect(invalid).toBeLessThanOrEqual(FORMAT_CHECKS);
      }),
    );
  });

  it("of megabytes are not read", () => {
    expect(parseTranscript(text + "x".repeat(3e6))).toMatchObject({ transcript: undefined, invalid: 16 });
  });
});
