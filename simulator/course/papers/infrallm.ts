import { flashCrowd, wave } from "../../model/load.ts";
import type { Load } from "../../model/plant-model.ts";
import { obstacle } from "../obstacle.ts";
import type { ObstacleModel } from "../obstacle.ts";

const days = wave(20, 90, 1_200);
const crowd = flashCrowd({ base: 0, peak: 120, startSeconds: 2_100, riseSeconds: 60, holdSeconds: 420 });
const load: Load = (at) => days(at) + crowd(at);

/** InfraLLM (section VI): a load with its ups and downs and one crowd that nobody expects. */
export const INFRALLM_PLANT: ObstacleModel = obstacle({
  name: "infrallm-days",
  about: "The shop through three days of 20 minutes, with a crowd of nine minutes that ends the second.",
  load,
  seconds: 3_600,
  family: "infrallm",
});
