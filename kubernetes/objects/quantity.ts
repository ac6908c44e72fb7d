import { z } from "zod";

const FACTORS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

const QUANTITY = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([eE][+-]?\d+)|(n|u|m|k|[MGTPE]i?|Ki))?$/;

/** A longer text is none: 18 digits and a suffix are as much as Kubernetes keeps. */
const MOST_CHARACTERS = 500;

/**
 * A Kubernetes quantity such as `250m`, `1.5`, `128Mi` or `1e3` as a plain number: cores, bytes or a count
 * (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/).
 * @throws RangeError naming the text when it is none
 */
export function parseQuantity(text: string): number {
  const [, digits, exponent, suffix] = QUANTITY.exec(text.slice(0, MOST_CHARACTERS).trim()) ?? [];
  const number = digits === undefined ? Number.NaN : Number(`${digits}${exponent ?? ""}`);
  const value = number * (FACTORS[suffix ?? ""] ?? Number.NaN);
  if (!Number.isFinite(value) || text.length > MOST_CHARACTERS) {
    throw new RangeError(`'${text.slice(0, 40)}' is not a quantity; write for example 250m, 2 or 128Mi`);
  }
  return value;
}

/** A quantity in an object, read as a number that is finite and not negative. Manifests may hold bare numbers. */
export const Quantity = z.union([z.string(), z.number()]).transform((value, context) => {
  try {
    const parsed = typeof value === "number" ? value : parseQuantity(value);
    if (parsed >= 0 && Number.isFinite(parsed)) return parsed;
  } catch {
    // Reported below, in the same words.
  }
  context.addIssue(`'${String(value).slice(0, 40)}' is not a quantity`);
  return z.NEVER;
});

/** CPU and memory of a `requests`, `limits` or `allocatable` list; other resources are not read. */
export const Resources = z
  .object({ cpu: Quantity.optional(), memory: Quantity.optional() })
  .transform(({ cpu, memory }) => ({
    ...(cpu !== undefined && { cpuCores: cpu }),
    ...(memory !== undefined && { memoryBytes: memory }),
  }));
export type Resources = z.infer<typeof Resources>;
