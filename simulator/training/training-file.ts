import { createHash } from "node:crypto";
import { readJsonWith } from "@tradewind/core/values/config.ts";
import { WEIGHT_COUNT } from "@tradewind/predictor/models/network/shape.ts";
import { z } from "zod";
import type { ProfileTraining, TrainingSchedule } from "./train-profile.ts";

/** First line of a training's file; the numbers follow in base64, as 32-bit floats, little-endian. */
const Header = z.strictObject({
  schema: z.literal("tradewind.dev/profile-training/v1"),
  seed: z.int().nonnegative(),
  services: z.int().positive(),
  batch: z.int().positive(),
  /** Of the whole schedule, and those that are done. */
  steps: z.int().positive(),
  done: z.int().nonnegative(),
});

/** Two trainings with the same settings are one training. */
export interface TrainingSettings extends TrainingSchedule {
  readonly services: number;
}

const arraysOf = ({ adam, averaged, values }: ProfileTraining): Float32Array[] => [
  values,
  averaged,
  adam.first,
  adam.second,
];

export function trainingText(
  { batch, seed, services, steps }: TrainingSettings,
  training: ProfileTraining,
): string {
  const schema = "tradewind.dev/profile-training/v1";
  const header: z.infer<typeof Header> = { schema, seed, services, batch, steps, done: training.steps };
  const bytes = arraysOf(training).map((each) => Buffer.from(each.buffer, each.byteOffset, each.byteLength));
  return `${JSON.stringify(header)}\n${Buffer.concat(bytes).toString("base64")}\n`;
}

/** @throws Error, which names the path, when it is not a whole training, or one with other settings */
export function trainingOf(text: string, path: string, wanted: TrainingSettings): ProfileTraining {
  const end = Math.max(0, text.indexOf("\n"));
  const header = readJsonWith(Header, text.slice(0, end), path);
  for (const name of ["seed", "services", "batch", "steps"] as const) {
    if (header[name] === wanted[name]) continue;
    throw new Error(
      `${path} is of another training, with ${name} ${header[name]}: name another --state, or give the settings of that one`,
    );
  }
  const body = Buffer.from(text.slice(end + 1), "base64");
  if (body.length !== 4 * 4 * WEIGHT_COUNT)
    throw new Error(`${path} is not whole, or of another network: remove it and train again`);
  const all = new Float32Array(4 * WEIGHT_COUNT);
  Buffer.from(all.buffer).set(body);
  const part = (at: number): Float32Array => all.slice(at * WEIGHT_COUNT, (at + 1) * WEIGHT_COUNT);
  return {
    values: part(0),
    averaged: part(1),
    adam: { first: part(2), second: part(3), steps: header.done },
    steps: header.done,
  };
}

/** SHA-256 of weights as they are stored, hexadecimal. */
export const hashOf = (weights: Float32Array): string =>
  createHash("sha256")
    .update(Buffer.from(weights.buffer, weights.byteOffset, weights.byteLength))
    .digest("hex");
