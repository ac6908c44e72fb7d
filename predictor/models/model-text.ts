import { createHash } from "node:crypto";
import { parseJsonWith } from "@tradewind/core/values/config.ts";
import { FullHash } from "@tradewind/core/contract/quantity.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { canonicalJson } from "@tradewind/core/values/hash.ts";
import { z } from "zod";

/** Largest model file that is read. */
export const LARGEST_MODEL_CHARACTERS = 1_000_000;

/** SHA-256 (hexadecimal) of the canonical JSON. */
export const checksumOf = (body: unknown): string =>
  createHash("sha256").update(canonicalJson(body)).digest("hex");

/** Float32 numbers, little-endian, in base64. */
export function packed(parameters: Float64Array): string {
  const bytes = Buffer.alloc(parameters.length * 4);
  for (let i = 0; i < parameters.length; i += 1) bytes.writeFloatLE(parameters[i] as number, i * 4);
  return bytes.toString("base64");
}

export function unpacked(text: string): Float64Array {
  const bytes = Buffer.from(text, "base64");
  const parameters = new Float64Array(Math.floor(bytes.length / 4));
  for (let i = 0; i < parameters.length; i += 1) parameters[i] = bytes.readFloatLE(i * 4);
  return parameters;
}

const ModelFile = z.strictObject({
  schema: z.string().max(100),
  /** Of `model`, see {@link checksumOf}. */
  checksum: FullHash,
  model: z.unknown(),
});

/** A model as text: its schema, a checksum and the body. */
export const writeModelText = (schema: string, body: unknown): string =>
  `${JSON.stringify({ schema, checksum: checksumOf(body), model: body })}\n`;

/**
 * Reads the text of a model. Never throws: what is corrupt, truncated, foreign or too large comes back as an error.
 * @param faultOf why a body that has its form cannot be used; undefined when it can
 */
export function readModelText<Body>(
  text: string,
  schema: string,
  form: z.ZodType<Body>,
  faultOf: (body: Body) => string | undefined,
): Body | TradewindError {
  const refuse = (why: string, cause?: unknown): TradewindError =>
    new TradewindError("invalid-model", `the model file ${why}`, { cause });
  if (text.length > LARGEST_MODEL_CHARACTERS)
    return refuse(`is longer than ${LARGEST_MODEL_CHARACTERS} characters`);
  try {
    const file = parseJsonWith(ModelFile, text, "the model file");
    if (file.schema !== schema) return refuse(`is of schema '${file.schema}', not '${schema}'`);
    if (checksumOf(file.model) !== file.checksum) return refuse("does not match its checksum");
    const body = form.safeParse(file.model);
    if (!body.success) return refuse(`is not valid: ${body.error.issues[0]?.message ?? ""}`, body.error);
    const fault = faultOf(body.data);
    return fault === undefined ? body.data : refuse(fault);
  } catch (error) {
    return refuse(`cannot be read (${describeError(error)})`, error);
  }
}
