import { flashCrowd } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";

export const FLASH_CROWD = obstacle({
  name: "flash-crowd",
  about:
    "Five times the load within ten seconds, for four minutes: pods come too late, what is added must go again.",
  load: flashCrowd({ base: 30, peak: 150, startSeconds: 480, riseSeconds: 10, holdSeconds: 220 }),
});
