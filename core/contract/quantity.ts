import { z } from "zod";

/** Shared shapes of numbers and names that cross a process. Every number is finite (zod refuses NaN and Infinity). */
export const NonNegative = z.number().min(0);
export const Ratio = z.number().min(0).max(1);
export const Count = z.number().int().min(0);
/** Latency that a percentile must stay under. */
export const LatencyObjective = z.strictObject({ percentile: Ratio, seconds: z.number().positive() });
/** Milliseconds since the Unix epoch. */
export const EpochMs = z.number().min(0).max(8.64e15);

/** Text of 1 to `longest` characters that fits a pattern. Zod would try the pattern on a text that is too long as well. */
export const patternedText = (longest: number, pattern: RegExp, rule?: string) =>
  z.string().min(1).max(longest, { abort: true }).regex(pattern, rule);

/** A Kubernetes object name or DNS label chain. */
export const ObjectName = patternedText(
  253,
  /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/,
  "must be lower-case letters, digits, '-' and '.'",
);

const LONGEST_SERVICE_NAME = 200;
/** Also for Kubernetes, whose expressions (RE2) do not look ahead. */
const SERVICE_NAME = /^[^\p{C}\S]*[^\p{C}\s]\P{C}*$/u;

/** A service as traces name it: any printable text that is more than blanks, bounded. */
export const ServiceName = patternedText(
  LONGEST_SERVICE_NAME,
  SERVICE_NAME,
  "must be printable, and more than blanks",
);

/** As {@link ServiceName}, for text that is asked about too often for a schema. */
export const isServiceName = (text: string): boolean =>
  text.length <= LONGEST_SERVICE_NAME && SERVICE_NAME.test(text);

/** Nodes that are alike, as a Kubernetes label value: the platform's instance type, else CPU model and number of CPUs. */
export const NodeClassName = patternedText(
  63,
  /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/,
  "must be a Kubernetes label value",
);

/** First 16 hex digits of a SHA-256, see core/values/hash.ts. */
export const ContentHash = patternedText(16, /^[0-9a-f]{16}$/);
/** All 64 of them. */
export const FullHash = patternedText(64, /^[0-9a-f]{64}$/);
/** Of a decision record of the scaler. */
export const DecisionId = patternedText(64, /^[0-9a-z-]{1,64}$/);
/** Of a change that waits for a person. */
export const ChangeId = patternedText(10, /^[0-9a-f]{10}$/);

/** A part whose form another release may have changed, and without which all the rest still counts. */
export const orAbsent = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);
