/** Injects faults into one application in a process of its own: a machine's platforms are told apart by their processes. */
import { parseJsonWith } from "@tradewind/core/values/config.ts";
import { z } from "zod";
import { localSet } from "./local/cases.ts";

const Order = z.strictObject({
  application: z.string(),
  count: z.number().int().positive(),
  seed: z.number().int(),
  calibration: z.string(),
});

const order = parseJsonWith(Order, process.argv[2] ?? "", "the order");
const set = await localSet(order, (text) => console.error(text));
process.send?.(set, undefined, undefined, () => process.exit(0));
