import { wave } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import { ONE_THREAD_SHOP } from "./one-thread.ts";

export const SLOW_HPA = obstacle({
  name: "slow-hpa",
  about:
    "Every HPA holds a higher number for 300 s, and a service is full at half of its CPU: whoever looks back less hunts.",
  load: wave(60, 90, 900),
  application: ONE_THREAD_SHOP,
  objectiveMs: 300,
  forcedScaleDownSeconds: 300,
  seconds: 1_800,
  family: "one-thread",
});
