import fc from "fast-check";
import { TradewindError } from "@tradewind/core/errors.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import { AttentionResidual } from "@tradewind/predictor/endtoend/attention.ts";
import { readAttention, writeAttention } from "@tradewind/predictor/endtoend/attention-file.ts";
import { describe, expect, it } from "vitest";
import { randomResidual, randomTails } from "./random-residual.ts";

/** A model whose scales are in order, as a file must have them. */
const model = randomResidual(3, seededRng(21));
const text = writeAttention(model);

function refusal(damaged: string): string {
  const read = readAttention(damaged);
  expect(read).toBeInstanceOf(TradewindError);
  return (read as TradewindError).message;
}

describe("end-to-end model file", () => {
  it("read back predicts the same numbers bit for bit", () => {
    const read = readAttention(text);
    expect(read).toEqual(model);
    const tails = randomTails(3, seededRng(1));
    expect(new AttentionResidual(read as typeof model).evaluate(tails)).toBe(
      new AttentionResidual(model).evaluate(tails),
    );
  });

  it("truncated anywhere is refused, never thrown", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: text.length - 3 }), (length) => {
        expect(refusal(text.slice(0, length))).toMatch(/^end-to-end model file .*delete it to train anew$/);
      }),
    );
  });

  it("of another kind, with a changed number, or with parameters that cannot be its own is refused", () => {
    expect(refusal("null")).toContain("cannot be read");
    expect(refusal(text.replace("end-to-end/v1", "end-to-end/v2"))).toContain("schema");
    expect(refusal("x".repeat(1_000_001))).toContain("longer than");
    expect(refusal(text.replace('"trainingRows":200', '"trainingRows":201'))).toContain("checksum");
    const changed = (parts: Partial<typeof model>): string => refusal(writeAttention({ ...model, ...parts }));
    expect(changed({ parameters: model.parameters.subarray(1) })).toContain("parameters where");
    expect(changed({ parameters: model.parameters.slice().fill(Number.NaN) })).toContain("not a finite");
    expect(changed({ services: ["s0", "s1", "s1"] })).toContain("twice");
    expect(changed({ scales: model.scales.slice(1) })).toContain("scales for 3 services");
  });

  it("with a scale so small that predictions would not be finite is refused", () => {
    const scales = model.scales.map((scale) => ({ ...scale, scale: 1e-300 }));
    expect(refusal(writeAttention({ ...model, scales }))).toContain("Too small");
  });
});
