import { wave } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";

export const METRIC_OUTAGE = obstacle({
  name: "metric-outage",
  about: "No CPU or memory metrics for six minutes while load rises, and no traces for three of them.",
  load: wave(20, 100, 600),
  faults: {
    metricOutages: [{ startSeconds: 540, endSeconds: 900 }],
    traceOutages: [{ startSeconds: 600, endSeconds: 780 }],
  },
});
