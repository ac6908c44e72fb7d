import { TRANSCRIPT_SCHEMA, TranscriptLine } from "@tradewind/core/contract/transcript.ts";
import { anonymised, scored } from "@tradewind/predictor/commands/ask/transcripts.ts";
import { parseTranscript, renderTranscript } from "@tradewind/predictor/reason/grammar.ts";
import { describe, expect, it } from "vitest";

const LINE: TranscriptLine = {
  schema: TRANSCRIPT_SCHEMA,
  application: "shop",
  atMs: 1,
  model: "built-in",
  sketchHash: "0123456789abcdef",
  sketch: {
    services: [
      { id: 1, name: "cart" },
      { id: 2, name: "cart-db" },
    ],
  },
  answer: renderTranscript({
    think: "Cause: 'cart-db', CPU; 'cart' waits.",
    faults: [],
    counterfactuals: [],
    roots: [{ id: 2, type: "C" }],
  }),
};

describe("a transcript", () => {
  it("is scored against what an operator says the cause was: all right gives 0.2 + 0.8 + 0.1", () => {
    const line = TranscriptLine.parse(scored(LINE, ["cart-db:C"]));
    expect(line.labels).toEqual({ root: [{ id: 2, type: "C" }], source: "operator" });
    expect(line.reward).toMatchObject({ format: 0, length: 0 });
    expect(line.reward!.total).toBeCloseTo(1.1, 5);
  });

  it("scores nothing for another service", () => {
    expect(scored(LINE, ["cart:C"]).reward!.result).toBeCloseTo(0, 5);
  });

  it.each(["cart", "nobody:C", "cart:Q", ":", ""])("is not scored against '%s'", (cause) => {
    expect(() => scored(LINE, [cause])).toThrow("SERVICE:TYPE");
  });

  it("holds no name of a service or of the application once it is anonymised, and the same roots", () => {
    const line = anonymised(LINE);
    expect(JSON.stringify(line)).not.toMatch(/cart|shop/);
    expect(parseTranscript(line.answer).transcript).toMatchObject({
      think: "Cause: 'service-2', CPU; 'service-1' waits.",
      roots: [{ id: 2, type: "C" }],
    });
  });
});
