import { z } from "zod";

/** Shared shapes of numbers and names that cross a process. Every number is finite (zod refuses NaN and Infinity). */
export const NonNegative = z.number().min(0);
export const Ratio = z.number().min(0).max(1);
export const Count = z.number().int().min(0);
/** Milliseconds since the Unix epoch. */
export const EpochMs = z.number().min(0).max(8.64e15);

/** A Kubernetes object name or DNS label chain. */
export const ObjectName = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, "must be lower-case letters, digits, '-' and '.'");

/** A service as traces name it: any printable text that is more than blanks, bounded. */
export const ServiceName = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\p{C}]*[^\p{C}\s][^\p{C}]*$/u, "must be printable, and more than blanks");

/** Nodes that are alike, as a Kubernetes label value: the platform's instance type, else CPU model and number of CPUs. */
export const NodeClassName = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/, "must be a Kubernetes label value");

/** First 16 hex digits of a SHA-256, see core/hash.ts. */
export const ContentHash = z.string().regex(/^[0-9a-f]{16}$/);

/** A part whose form another release may have changed, and without which all the rest still counts. */
export const orAbsent = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);
