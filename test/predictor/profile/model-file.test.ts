import fc from "fast-check";
import { TradewindError } from "@tradewind/core/errors.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import { ALL_ON } from "@tradewind/predictor/profile/model.ts";
import { readModel, writeModel } from "@tradewind/predictor/profile/model-file.ts";
import { TrainedProfile } from "@tradewind/predictor/profile/trained-profile.ts";
import { describe, expect, it } from "vitest";
import { randomInput, randomModel } from "./random-model.ts";

const model = randomModel(seededRng(21));
const text = writeModel(model);

function refusal(damaged: string): string {
  const read = readModel(damaged);
  expect(read).toBeInstanceOf(TradewindError);
  return (read as TradewindError).message;
}

describe("model file", () => {
  it.each([[ALL_ON], [{ ...ALL_ON, prior: false }], [{ prior: false, monotone: false, uncertainty: false }]])(
    "read back predicts the same numbers bit for bit: %o",
    (switches) => {
      const written = randomModel(seededRng(4), switches);
      const read = readModel(writeModel(written));
      expect(read).not.toBeInstanceOf(TradewindError);
      const before = new TrainedProfile(written);
      const after = new TrainedProfile(read as typeof written);
      for (let seed = 0; seed < 20; seed += 1) {
        const input = randomInput(seededRng(seed));
        expect(after.evaluate(input)).toBe(before.evaluate(input));
        expect(after.verdict).toEqual(before.verdict);
      }
    },
  );

  it("keeps how interference inflates CPU seconds, and may be without it as older files are", () => {
    const inflation = {
      reference: [0.1, 0, 0.05, 0],
      linear: [0.4, 0, 0, 0],
      quadratic: [0.3, 0, 0.9, 0],
    };
    expect(readModel(writeModel({ ...model, inflation }))).toMatchObject({ inflation });
    expect(readModel(text)).not.toHaveProperty("inflation");
    expect(refusal(writeModel({ ...model, inflation: { ...inflation, linear: [-1, 0, 0, 0] } }))).toContain(
      "is not valid",
    );
    expect(refusal(writeModel({ ...model, inflation: { ...inflation, linear: [1] } }))).toContain(
      "is not valid",
    );
  });

  it("truncated anywhere is refused, never thrown", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: text.length - 3 }), (length) => {
        expect(refusal(text.slice(0, length))).toMatch(/^profile model file .*delete it to train anew$/);
      }),
    );
  });

  it("with one changed character is refused or means the same", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: text.length - 2 }),
        fc.constantFrom("0", "A", '"', "}", " ", "é"),
        (at, character) => {
          const read = readModel(text.slice(0, at) + character + text.slice(at + 1));
          expect(read instanceof TradewindError ? model : read).toEqual(model);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("of another kind is refused", () => {
    expect(refusal("[]")).toContain("cannot be read");
    expect(refusal("null")).toContain("cannot be read");
    expect(refusal(text.replace("profile/v1", "profile/v2"))).toContain("schema");
    expect(refusal("x".repeat(1_000_001))).toContain("longer than");
  });

  it("with a changed number is refused by its checksum", () => {
    expect(refusal(text.replace('"priorWeight":0.7', '"priorWeight":0.8'))).toContain(
      "does not match its checksum",
    );
  });

  it("whose parameters break the promised signs, are too few or not finite is refused even with the right checksum", () => {
    const wrong = (change: (parameters: Float64Array) => Float64Array): string =>
      refusal(writeModel({ ...model, members: [change(model.members[0]!.slice())] }));
    expect(wrong((parameters) => parameters.map((value) => -value))).toContain("breaks the signs");
    expect(wrong((parameters) => parameters.subarray(1))).toContain("parameters where");
    expect(wrong((parameters) => parameters.fill(Number.NaN))).toContain("not a finite number");
  });
});
