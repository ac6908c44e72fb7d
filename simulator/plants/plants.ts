import type { Plant } from "../world.ts";
import { FLASH_CROWD } from "./flash-crowd.ts";
import { STEADY } from "./steady.ts";
import { WAVE } from "./wave.ts";

/** All plants, in the order in which reports list them. */
export const PLANTS: readonly Plant[] = [STEADY, WAVE, FLASH_CROWD];
