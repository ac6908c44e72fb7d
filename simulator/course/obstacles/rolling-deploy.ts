import { steady } from "../../model/load.ts";
import { obstacle, USUAL_LOAD } from "../obstacle.ts";

export const ROLLING_DEPLOY = obstacle({
  name: "rolling-deploy",
  about:
    "A rolling update of search doubles the CPU of its requests: what was learnt of it is wrong from then on.",
  load: steady(USUAL_LOAD),
  incidents: [{ kind: "deploy", atSeconds: 480, service: "search", demandFactor: 2 }],
});
