import { wave } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";

export const SCALER_KILLED = obstacle({
  name: "scaler-killed",
  about:
    "The external scaler is gone for four minutes, and later the process that makes its numbers for five, while load rises.",
  load: wave(20, 100, 600),
  faults: { scalerDown: [{ startSeconds: 600, endSeconds: 840 }] },
  processDown: [{ startSeconds: 1_140, endSeconds: 1_440 }],
  seconds: 1_560,
});
