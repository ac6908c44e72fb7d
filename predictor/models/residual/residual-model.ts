import { ObjectName, ServiceName } from "@tradewind/core/contract/quantity.ts";
import type { TradewindError } from "@tradewind/core/values/errors.ts";
import { z } from "zod";
import { packed, readModelText, unpacked, writeModelText } from "../model-text.ts";
import { DIRECTIONS, INPUT_COUNT } from "./inputs.ts";
import { parameterCount, signsOf } from "./network.ts";

const RESIDUAL_SCHEMA = "tradewind.dev/residual/v1";

/** What was seen of an input; `usual` stands for a value that is not known. */
const Span = z
  .strictObject({ low: z.number(), usual: z.number(), high: z.number() })
  .refine(({ high, low, usual }) => low <= usual && usual <= high, "has a range out of order");
export type Span = z.infer<typeof Span>;

const Parameters = z.codec(
  z.base64().max(100_000),
  z.custom<Float64Array>((value) => value instanceof Float64Array),
  {
    decode: unpacked,
    encode: packed,
  },
);

/** A trained residual of one service: ln(self time / what its tracked profile says), see docs/profiles.md. */
const ResidualModel = z.strictObject({
  namespace: ObjectName,
  service: ServiceName,
  version: z.int().min(1),
  /** Of the self time that it corrects. */
  percentile: z.union([z.literal(0.5), z.literal(0.95), z.literal(0.99)]),
  trainedAtMs: z.number().nonnegative(),
  /** Windows that it was trained on. */
  trainingRows: z.int().min(1),
  /** Usual size and load: the tracked curve is scaled about what it says there. */
  reference: z.strictObject({
    cpuCores: z.number().positive().optional(),
    loadPerContainer: z.number().positive(),
  }),
  /** ln of the tail changes 1 + `curve` times as much with size and load as the tracked one does. */
  curve: z.number().min(-0.5).max(1),
  /** ln(tracked tail / that at the reference) as far as it was seen: beyond it the curve is as tracked. */
  curveSpan: Span,
  /** By input, see inputs.ts. */
  spans: z.array(Span).length(INPUT_COUNT),
  units: z.int().min(1).max(64),
  /** See network.ts; 32-bit floats. */
  parameters: Parameters,
});
export type ResidualModel = z.infer<typeof ResidualModel>;

/** Checks nothing: what {@link readResidual} says of the text is what counts. */
export const writeResidual = (model: ResidualModel): string =>
  writeModelText(RESIDUAL_SCHEMA, { ...model, parameters: packed(model.parameters) });

/** Never throws: what is no usable model comes back as an error. */
export const readResidual = (text: string): ResidualModel | TradewindError =>
  readModelText(text, RESIDUAL_SCHEMA, ResidualModel, faultOf);

function faultOf({ parameters, units }: ResidualModel): string | undefined {
  const shape = { inputs: INPUT_COUNT, units };
  const count = parameterCount(shape);
  if (parameters.length !== count) return `has ${parameters.length} parameters where ${count} belong`;
  if (!parameters.every((each) => Number.isFinite(each)))
    return "has a parameter that is not a finite number";
  const signs = signsOf(shape, DIRECTIONS);
  return parameters.some((value, i) => value * (signs[i] ?? 0) < 0)
    ? "breaks the signs that it keeps"
    : undefined;
}
