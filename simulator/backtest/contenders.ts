import type { Contender } from "../contenders/contender.ts";
import { PREDICTIVE_HPA } from "../contenders/holt-winters.ts";
import { HPA_CPU, HPA_VPA } from "../contenders/hpa.ts";
import { KEDA_REQUESTS } from "../contenders/keda-metrics.ts";
import { OURS } from "../contenders/ours/ours.ts";
import { STATIC } from "../contenders/static-size.ts";

/** What people have, and Tradewind: policies that a recording can judge. */
export const BACKTEST_CONTENDERS: readonly Contender[] = [
  STATIC,
  HPA_CPU,
  HPA_VPA,
  KEDA_REQUESTS,
  PREDICTIVE_HPA,
  ...OURS,
];
