import type { ObstacleModel } from "./obstacle.ts";
import { AUTOSCALED } from "./obstacles/autoscaled.ts";
import { DIURNAL_WEEK } from "./obstacles/diurnal-week.ts";
import { FAN_OUT } from "./obstacles/fan-out.ts";
import { FEW_REQUESTS } from "./obstacles/few-requests.ts";
import { FLASH_CROWD } from "./obstacles/flash-crowd.ts";
import { FLAT_CALM } from "./obstacles/flat-calm.ts";
import { FULL_CLUSTER, FULL_FOR_LONG } from "./obstacles/full-cluster.ts";
import { HEAVY_REQUESTS } from "./obstacles/heavy-requests.ts";
import { IMPATIENT_USERS } from "./obstacles/impatient-users.ts";
import { MEMORY_LEAK } from "./obstacles/memory-leak.ts";
import { METRIC_OUTAGE } from "./obstacles/metric-outage.ts";
import { MIXED_NODES } from "./obstacles/mixed-nodes.ts";
import { NEIGHBOURS } from "./obstacles/neighbours.ts";
import { NO_LIMITS } from "./obstacles/no-limits.ts";
import { NODE_LOSS } from "./obstacles/node-loss.ts";
import { NOISY_NEIGHBOUR } from "./obstacles/noisy-neighbour.ts";
import { NOT_A_NUMBER } from "./obstacles/not-a-number.ts";
import { OFF_PATH_WORKER } from "./obstacles/off-path-worker.ts";
import { ONE_THREAD } from "./obstacles/one-thread.ts";
import { OTHER_APPLICATIONS } from "./obstacles/other-applications.ts";
import { OWN_LOCK } from "./obstacles/own-lock.ts";
import { POD_STARTS } from "./obstacles/pod-start.ts";
import { RETRY_STORM } from "./obstacles/retry-storm.ts";
import { ROLLING_DEPLOY } from "./obstacles/rolling-deploy.ts";
import { SAMPLED_TRACES } from "./obstacles/sampled-traces.ts";
import { SCALE_TO_ZERO } from "./obstacles/scale-to-zero.ts";
import { SCALER_KILLED } from "./obstacles/scaler-killed.ts";
import { SEASONS } from "./obstacles/seasons.ts";
import { SIDECAR } from "./obstacles/sidecar.ts";
import { SLOW_DATABASE } from "./obstacles/slow-database.ts";
import { SLOW_ENDPOINT } from "./obstacles/slow-endpoint.ts";
import { SLOW_HPA } from "./obstacles/slow-hpa.ts";
import { BLIND_SPANS, SMALL_LIMITS } from "./obstacles/small-limits.ts";
import { STEADY } from "./obstacles/steady.ts";
import { TIGHT_OBJECTIVES } from "./obstacles/tight-objective.ts";
import { WARM_UP } from "./obstacles/warm-up.ts";
import { WAVE } from "./obstacles/wave.ts";
import { WHOLE_CORES } from "./obstacles/whole-cores.ts";

/** The whole course, in the order of its report. */
export const COURSE: readonly ObstacleModel[] = [
  STEADY,
  WAVE,
  WHOLE_CORES,
  ...OTHER_APPLICATIONS,
  FLASH_CROWD,
  DIURNAL_WEEK,
  ...TIGHT_OBJECTIVES,
  SLOW_ENDPOINT,
  SLOW_DATABASE,
  SIDECAR,
  WARM_UP,
  OFF_PATH_WORKER,
  ONE_THREAD,
  OWN_LOCK,
  SLOW_HPA,
  ...POD_STARTS,
  SAMPLED_TRACES,
  ROLLING_DEPLOY,
  RETRY_STORM,
  IMPATIENT_USERS,
  FAN_OUT,
  NOISY_NEIGHBOUR,
  ...NO_LIMITS,
  ...MIXED_NODES,
  NODE_LOSS,
  FULL_CLUSTER,
  FULL_FOR_LONG,
  ...NEIGHBOURS,
  ...AUTOSCALED,
  METRIC_OUTAGE,
  NOT_A_NUMBER,
  SCALER_KILLED,
  SCALE_TO_ZERO,
  MEMORY_LEAK,
  FEW_REQUESTS,
  HEAVY_REQUESTS,
  FLAT_CALM,
  SMALL_LIMITS,
  BLIND_SPANS,
  ...SEASONS,
];
