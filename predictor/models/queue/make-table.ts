/** Writes table.ts: `node predictor/models/queue/make-table.ts`, about ten minutes. The same bytes each time. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildTable } from "./build-table.ts";
import { encode, PARALLELISMS } from "./table-grid.ts";

const shared = encode(buildTable(PARALLELISMS, false));
const inOrder = encode(buildTable([1], true));
const text = `/** Made by make-table.ts; see table-grid.ts for the axes and the encoding. */
/** Requests that share the cores. */
export const SHARED =
  "${shared}";
/** One thread that takes one request after the other. */
export const IN_ORDER =
  "${inOrder}";
`;
writeFileSync(join(import.meta.dirname, "table.ts"), text);
