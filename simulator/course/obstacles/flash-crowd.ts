import { steady, surge } from "../load.ts";
import { obstacle } from "../obstacle.ts";

export const FLASH_CROWD = obstacle({
  name: "flash-crowd",
  about:
    "Five times the load within ten seconds, for four minutes: pods come too late, what is added must go again.",
  load: surge(steady(30), 5, { from: 480, until: 720 }),
});
