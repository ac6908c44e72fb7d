import { CLAIRVOYANT } from "./clairvoyant.ts";
import type { Contender } from "./contender.ts";
import { ERMS } from "./erms.ts";
import { FIRM } from "./firm.ts";
import { PREDICTIVE_HPA } from "./holt-winters.ts";
import { HPA_CPU, HPA_VPA } from "./hpa.ts";
import { KEDA_LATENCY, KEDA_REQUESTS } from "./keda-metrics.ts";
import { OURS } from "./ours/ours.ts";
import { QUEUEFLOWER } from "./queueflower.ts";
import { STATIC } from "./static-size.ts";

/** All that can be compared, ours first, then what people have, then what was published, and last the bound of one who knows everything. */
export const CONTENDERS: readonly Contender[] = [
  ...OURS,
  STATIC,
  HPA_CPU,
  HPA_VPA,
  KEDA_REQUESTS,
  KEDA_LATENCY,
  PREDICTIVE_HPA,
  QUEUEFLOWER,
  ERMS,
  FIRM,
  CLAIRVOYANT,
];
