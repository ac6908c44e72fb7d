import type { Load } from "../../model/plant-model.ts";
import { obstacle } from "../obstacle.ts";

/** Office hours: ten minutes of load, ten without any request, ten of load. */
const load: Load = (at) => (at < 600 || at >= 1_320 ? 40 : 0);

export const SCALE_TO_ZERO = obstacle({
  name: "scale-to-zero",
  about:
    "No request at all for twelve minutes, with a minimum of no replica: what stops, and how soon it is back.",
  load,
  minReplicas: 0,
  seconds: 1_800,
});
