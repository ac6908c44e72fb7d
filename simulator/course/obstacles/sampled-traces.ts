import { wave } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";

export const SAMPLED_TRACES = obstacle({
  name: "sampled-traces",
  about: "One trace of a hundred is kept: nine requests a window tell the tail.",
  load: wave(20, 100, 600),
  telemetry: { sampledRatio: 0.01 },
});
