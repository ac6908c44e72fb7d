import { steady } from "../../model/load.ts";
import { obstacle, USUAL_LOAD } from "../obstacle.ts";

export const STEADY = obstacle({
  name: "steady",
  about: "The same load all the time: what a policy settles at, and whether it stays there.",
  load: steady(USUAL_LOAD),
});
