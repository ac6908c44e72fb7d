import { askRules } from "@tradewind/predictor/models/level/level-rules.ts";
import type { LevelPoint } from "@tradewind/predictor/models/level/level-rules.ts";
import { EXPERTS } from "@tradewind/predictor/models/level/level-memory.ts";
import type { Expert } from "@tradewind/predictor/models/level/level-memory.ts";
import { emptyNetworkAnswer } from "@tradewind/predictor/models/network/head.ts";
import type {
  LatencyNetwork,
  NetworkState,
  Question,
} from "@tradewind/predictor/models/network/latency-network.ts";
import { MEDIAN, MIDDLE_80 } from "@tradewind/predictor/models/network/shape.ts";
import { logLoad } from "@tradewind/predictor/models/network/window-inputs.ts";

export type { Expert };

/** ln p95, s. */
export interface ExpertAnswers {
  readonly by: Readonly<Record<Expert, number>>;
  /** The network's interval of 80 %. */
  readonly low: number;
  readonly high: number;
}

/** What a service is known by: the network's state, and its windows for the rules. */
export interface ServiceHistory {
  readonly state: NetworkState;
  readonly points: readonly LevelPoint[];
}

const answer = emptyNetworkAnswer();
const [LOW, HIGH] = MIDDLE_80;

/** @param history of a service that the network is ready for */
export function askExperts(
  network: LatencyNetwork,
  { points, state }: ServiceHistory,
  question: Question,
): ExpertAnswers {
  network.at(state, question, answer);
  const { curveLog, logs } = answer;
  const rules = askRules(points, logLoad(question.loadPerContainer));
  const finite = (log = Number.NaN): number => (Number.isFinite(log) ? log : rules.lastValue);
  return {
    by: { ...rules, curve: finite(curveLog), network: finite(logs[MEDIAN]) },
    low: logs[LOW] ?? 0,
    high: logs[HIGH] ?? 0,
  };
}

/** In the order in which a mixture of them has them. */
export const inOrder = ({ by }: ExpertAnswers): number[] => EXPERTS.map((expert) => by[expert]);
export const EXPERT_COUNT = EXPERTS.length;
