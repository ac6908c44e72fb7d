import { TradewindError, describeError } from "@tradewind/core/errors.ts";
import { INTERFERENCE_COMPONENTS } from "@tradewind/core/contract/interference.ts";
import { parseJsonWith } from "@tradewind/core/config.ts";
import { NonNegative, ObjectName, Ratio, ServiceName } from "@tradewind/core/contract/quantity.ts";
import { z } from "zod";
import { checksumOf, LARGEST_MODEL_CHARACTERS, packed, unpacked } from "../models/model-text.ts";
import { FEATURE_COUNT, INPUTS, NETWORK_DIRECTIONS, NETWORK_INPUT_COUNT } from "./inputs.ts";
import { shapeOf } from "./model.ts";
import type { ProfileModel } from "./model.ts";
import { layoutOf, parameterSigns } from "./shape.ts";

export const PROFILE_SCHEMA = "tradewind.dev/profile/v1";

const Finite = z.number();
const PerComponent = <Value extends z.ZodType<number>>(value: Value) =>
  z.array(value).length(INTERFERENCE_COMPONENTS.length);
const Body = z.strictObject({
  inputs: z
    .array(z.string())
    .refine((names) => names.join() === INPUTS.join(), "are not the inputs of this version"),
  namespace: ObjectName,
  service: ServiceName,
  version: z.number().int().min(1),
  percentile: Ratio,
  trainedAtMs: NonNegative,
  trainingRows: z.number().int().min(1),
  switches: z.strictObject({ prior: z.boolean(), monotone: z.boolean(), uncertainty: z.boolean() }),
  priorWeight: NonNegative.max(10),
  cpuSecondsPerRequest: z.number().positive(),
  baseSeconds: z.number().positive(),
  inflation: z
    .strictObject({
      reference: PerComponent(Ratio),
      linear: PerComponent(NonNegative),
      quadratic: PerComponent(NonNegative),
    })
    .optional(),
  spans: z.array(z.strictObject({ low: Finite, high: Finite, neutral: Finite })),
  hidden: z.array(z.number().int().min(1).max(256)).min(1).max(8),
  activation: z.enum(["tanh", "relu"]),
  members: z.array(z.string().max(LARGEST_MODEL_CHARACTERS)).min(1).max(16),
  interval: z.strictObject({ low: z.number().max(0), high: NonNegative }),
  errors: z.strictObject({ rows: NonNegative, meanAbsoluteRatio: NonNegative, coverage: Ratio }),
});
const ModelFile = z.strictObject({
  schema: z.literal(PROFILE_SCHEMA),
  /** SHA-256 of the canonical JSON of `model`, hexadecimal. */
  checksum: z.string().regex(/^[0-9a-f]{64}$/),
  model: z.unknown(),
});

/**
 * The model as text, see docs/profiles.md. Parameters are kept as 32-bit floats; training rounds them beforehand, so a
 * model read back predicts the same numbers bit for bit.
 */
export function writeModel(model: ProfileModel): string {
  const body = { inputs: [...INPUTS], ...model, members: model.members.map(packed) };
  return `${JSON.stringify({ schema: PROFILE_SCHEMA, checksum: checksumOf(body), model: body })}\n`;
}

/** Why the parameters cannot be what the rest of the file says they are; undefined when they can. */
function faultOf(model: ProfileModel): string | undefined {
  const expectedInputs = model.switches.prior ? NETWORK_INPUT_COUNT : FEATURE_COUNT;
  if (model.spans.length !== expectedInputs) return `has ${model.spans.length} inputs, not ${expectedInputs}`;
  if (model.spans.some(({ low, high, neutral }) => low > neutral || neutral > high))
    return "has a span out of order";
  const shape = shapeOf(model);
  const { length } = layoutOf(shape);
  const signs = parameterSigns(shape, NETWORK_DIRECTIONS, model.switches.monotone);
  for (const parameters of model.members) {
    if (parameters.length !== length) return `has ${parameters.length} parameters where ${length} belong`;
    if (!parameters.every(Number.isFinite)) return "has a parameter that is not a finite number";
    if (parameters.some((value, i) => value * (signs[i] ?? 0) < 0))
      return "breaks the signs it promises to hold";
  }
  return undefined;
}

/**
 * Reads a model file. Never throws: what is corrupt, truncated, foreign or too large comes back as an error that says so.
 */
export function readModel(text: string): ProfileModel | TradewindError {
  const refuse = (why: string, cause?: unknown): TradewindError =>
    new TradewindError("invalid-profile", `profile model file ${why}; delete it to train anew`, { cause });
  if (text.length > LARGEST_MODEL_CHARACTERS)
    return refuse(`is longer than ${LARGEST_MODEL_CHARACTERS} characters`);
  try {
    const file = parseJsonWith(ModelFile, text, "profile model file");
    if (checksumOf(file.model) !== file.checksum) return refuse("does not match its checksum");
    const body = Body.safeParse(file.model);
    if (!body.success) return refuse(`is not valid: ${body.error.issues[0]?.message ?? ""}`, body.error);
    const { inputs: _inputs, inflation, members, ...rest } = body.data;
    const model: ProfileModel = {
      ...rest,
      ...(inflation && { inflation }),
      members: members.map(unpacked),
    };
    const fault = faultOf(model);
    return fault === undefined ? model : refuse(fault);
  } catch (error) {
    return refuse(`cannot be read (${describeError(error)})`, error);
  }
}
