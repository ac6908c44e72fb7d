import { COST } from "./cost.ts";
import { HOLD } from "./hold.ts";
import type { Level } from "./level.ts";
import { QUEUE } from "./queue.ts";
import { REACTIVE } from "./reactive.ts";
import { STATIC } from "./static.ts";

/** The levels of the ladder, highest first: the first one that can decide does. The last one always can. */
export const LEVELS: readonly Level[] = [STATIC, COST, QUEUE, REACTIVE, HOLD];
