import { wave } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";

export const NOT_A_NUMBER = obstacle({
  name: "not-a-number",
  about: "Metrics say NaN for four minutes: silence and doubt must not remove anything.",
  load: wave(20, 100, 600),
  faults: { nanWindows: [{ startSeconds: 540, endSeconds: 780 }] },
});
