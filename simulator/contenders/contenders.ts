import { AUTOTHROTTLE } from "./autothrottle.ts";
import { CLAIRVOYANT } from "./clairvoyant.ts";
import type { Contender } from "./contender.ts";
import { COSCAL } from "./coscal.ts";
import { ERMS } from "./erms.ts";
import { FIRM } from "./firm.ts";
import { PREDICTIVE_HPA } from "./holt-winters.ts";
import { HPA_CPU, HPA_VPA } from "./hpa.ts";
import { KEDA_LATENCY, KEDA_REQUESTS } from "./keda-metrics.ts";
import { OURS } from "./ours/ours.ts";
import { QUEUEFLOWER } from "./queueflower.ts";
import { SINAN } from "./sinan.ts";
import { STATIC } from "./static-size.ts";
import { MOST_CPU_STARVED, MOST_MEMORY_STARVED } from "./trivial.ts";

/** All that can be compared, ours first, then what people have, then what was published, then rules of one line, and
 * last the bound of one who knows everything. */
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
  SINAN,
  COSCAL,
  AUTOTHROTTLE,
  MOST_CPU_STARVED,
  MOST_MEMORY_STARVED,
  CLAIRVOYANT,
];
