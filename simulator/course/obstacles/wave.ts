import { wave } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";

export const WAVE = obstacle({
  name: "wave",
  about:
    "Load between 20 and 100 requests a second with a period of ten minutes: following without forecast.",
  load: wave(20, 100, 600),
});
