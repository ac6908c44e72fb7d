import { parseJsonWith } from "@tradewind/core/config.ts";
import { NonNegative, ServiceName } from "@tradewind/core/contract/quantity.ts";
import { describeError, TradewindError } from "@tradewind/core/errors.ts";
import { z } from "zod";
import { checksumOf, LARGEST_MODEL_CHARACTERS, packed, unpacked } from "../models/model-text.ts";
import { attentionLayout, attentionShape, FEATURES_PER_SERVICE } from "./attention-model.ts";
import type { AttentionModel } from "./attention-model.ts";

export const ATTENTION_SCHEMA = "tradewind.dev/end-to-end/v1";

/** ln of a latency in seconds: training stays within ±18, and its smallest scale is 0.05. */
const LogSeconds = z.number().min(-100).max(100);
const LEAST_SCALE = 1e-3;
const Body = z.strictObject({
  flow: z.string().min(1).max(200),
  percentile: z.number().gt(0).lt(1),
  version: z.number().int().min(1),
  trainedAtMs: NonNegative,
  trainingRows: z.number().int().min(1),
  services: z.array(ServiceName).min(1).max(5_000),
  width: z.number().int().min(1).max(64),
  hidden: z.number().int().min(1).max(256),
  scales: z.array(
    z.strictObject({
      centre: LogSeconds,
      scale: z.number().min(LEAST_SCALE),
      low: LogSeconds,
      high: LogSeconds,
    }),
  ),
  bound: z.number().positive().max(10),
  parameters: z.string().max(LARGEST_MODEL_CHARACTERS),
  errors: z.strictObject({
    rows: NonNegative,
    meanAbsoluteRatio: NonNegative,
    priorAbsoluteRatio: NonNegative,
  }),
});
const AttentionFile = z.strictObject({
  schema: z.literal(ATTENTION_SCHEMA),
  /** SHA-256 of the canonical JSON of `model`, hexadecimal. */
  checksum: z.string().regex(/^[0-9a-f]{64}$/),
  model: z.unknown(),
});

/** The model as text, in the form of the profiles' model files; see docs/endtoend.md. */
export function writeAttention(model: AttentionModel): string {
  const body = { ...model, parameters: packed(model.parameters) };
  return `${JSON.stringify({ schema: ATTENTION_SCHEMA, checksum: checksumOf(body), model: body })}\n`;
}

/** Why the parameters cannot be what the rest of the file says they are; undefined when they can. */
function faultOf(model: AttentionModel): string | undefined {
  const { services, scales, parameters } = model;
  if (new Set(services).size !== services.length) return "names a service twice";
  if (scales.length !== FEATURES_PER_SERVICE * services.length) {
    return `has ${scales.length} scales for ${services.length} services`;
  }
  if (scales.some(({ low, high, centre }) => low > centre || centre > high))
    return "has a range out of order";
  const { length } = attentionLayout(attentionShape(model));
  if (parameters.length !== length) return `has ${parameters.length} parameters where ${length} belong`;
  return parameters.every(Number.isFinite) ? undefined : "has a parameter that is not a finite number";
}

/**
 * Reads the file of a residual. Never throws: what is corrupt, truncated, foreign or too large comes back as an error
 * that says so.
 */
export function readAttention(text: string): AttentionModel | TradewindError {
  const refuse = (why: string, cause?: unknown): TradewindError =>
    new TradewindError("invalid-end-to-end-model", `end-to-end model file ${why}; delete it to train anew`, {
      cause,
    });
  if (text.length > LARGEST_MODEL_CHARACTERS) {
    return refuse(`is longer than ${LARGEST_MODEL_CHARACTERS} characters`);
  }
  try {
    const file = parseJsonWith(AttentionFile, text, "end-to-end model file");
    if (checksumOf(file.model) !== file.checksum) return refuse("does not match its checksum");
    const body = Body.safeParse(file.model);
    if (!body.success) return refuse(`is not valid: ${body.error.issues[0]?.message ?? ""}`, body.error);
    const model: AttentionModel = { ...body.data, parameters: unpacked(body.data.parameters) };
    const fault = faultOf(model);
    return fault === undefined ? model : refuse(fault);
  } catch (error) {
    return refuse(`cannot be read (${describeError(error)})`, error);
  }
}
