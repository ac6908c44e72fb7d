import { z } from "zod";
import { ServiceName } from "./quantity.ts";

export const STUDENTS_SCHEMA = "tradewind.dev/students/v2";

/** Numbers of one student: 5-20-20-3 with LayerNorm after the first layer. */
export const STUDENT_PARAMETERS = 643;

/** The parameters of one student as 32-bit floats, little-endian, in base64. */
const StudentParameters = z
  .base64()
  .refine((text) => decoded(text).every((value) => Number.isFinite(value)), {
    message: "holds a number that is not finite",
  })
  .refine((text) => decoded(text).length === STUDENT_PARAMETERS, {
    message: `does not hold ${STUDENT_PARAMETERS} numbers`,
  });

/** What scalers decide by while no predictor answers: `GET /v1/models/HASH`, with the hash that the plan names. */
export const Students = z.strictObject({
  schema: z.literal(STUDENTS_SCHEMA),
  /** What they learnt from, in words. */
  about: z.string().max(500),
  /** For every service without a student of its own. */
  general: StudentParameters,
  services: z.record(ServiceName, StudentParameters).optional(),
});
export type Students = z.infer<typeof Students>;

function decoded(text: string): number[] {
  const bytes = Buffer.from(text, "base64");
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) => bytes.readFloatLE(4 * i));
}

export const studentParameters = (text: string): Float64Array => Float64Array.from(decoded(text));

export function studentText(parameters: ArrayLike<number>): string {
  const bytes = Buffer.alloc(4 * parameters.length);
  for (let i = 0; i < parameters.length; i += 1) bytes.writeFloatLE(parameters[i] ?? 0, 4 * i);
  return bytes.toString("base64");
}
