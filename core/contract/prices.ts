import { z } from "zod";
import { NonNegative } from "./quantity.ts";

/** Prices in any one currency: what makes CPU, memory and replicas exchangeable. */
export const Prices = z.strictObject({
  cpuCoreHour: NonNegative.default(0.031).describe("Of one core for an hour."),
  memoryGigabyteHour: NonNegative.default(0.0042).describe("Of 1e9 bytes of memory for an hour."),
  currency: z
    .string()
    .min(1)
    .max(8)
    .regex(/^[A-Z]{3}$|^\p{Sc}$/u)
    .optional()
    .describe("What the prices are in, for reports: a code of three letters such as EUR, or a sign."),
  nodeClasses: z
    .record(z.string().min(1).max(63), z.number().positive().max(1_000))
    .optional()
    .describe(
      "What nodes of a class cost over these prices, by class: 0.4 of spot nodes. 1 where it is not given.",
    ),
});
export type Prices = Readonly<z.infer<typeof Prices>>;

/** What is paid for: `replicas` (1 where it is not given) times this much CPU and memory. */
export interface Priced {
  readonly cpuCores: number;
  readonly memoryBytes: number;
  readonly replicas?: number;
}

/** Price for an hour, in the currency of the prices. */
export function costPerHour({ cpuCores, memoryBytes, replicas = 1 }: Priced, prices: Prices): number {
  return replicas * (cpuCores * prices.cpuCoreHour + (memoryBytes / 1e9) * prices.memoryGigabyteHour);
}
