/** Writes predictor/models/queue/table.ts: `node bench/queue-table/generator.ts`, three minutes of one core. The same bytes each time. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildTables } from "./build-table.ts";
import { encode, PARALLELISMS } from "../../predictor/models/queue/table-grid.ts";

const shared = buildTables(PARALLELISMS, false);
const inOrder = buildTables([1], true);
const text = `/** Made by bench/queue-table/generator.ts; see table-grid.ts for the axes and the encoding. */
export const SHARED = {
  free: "${encode(shared.free)}",
  stall:
    "${encode(shared.stall)}",
};
export const IN_ORDER = {
  free: "${encode(inOrder.free)}",
  stall:
    "${encode(inOrder.stall)}",
};
`;
writeFileSync(join(import.meta.dirname, "..", "..", "predictor", "models", "queue", "table.ts"), text);
