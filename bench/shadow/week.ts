import type { ShadowComparison } from "@tradewind/core/contract/shadow.ts";
import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { containerSize } from "@tradewind/predictor/decide/facts/size.ts";
import { Shadow } from "@tradewind/predictor/answers/shadow/shadow.ts";
import { emptyShadow } from "@tradewind/predictor/answers/shadow/state.ts";
import type { Actuators, Contender } from "@tradewind/simulator/contenders/contender.ts";
import { HPA_CPU } from "@tradewind/simulator/contenders/hpa.ts";
import { startOurs } from "@tradewind/simulator/contenders/ours/ours.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import type { Obstacle } from "@tradewind/simulator/contenders/run.ts";

/** What the shadow said of a week, and what the HPA came to in the same one. */
export interface Week {
  readonly plant: string;
  readonly seed: number;
  /** Cost an hour, and share of the requests over their objective. */
  readonly cost: Compared;
  readonly over: Compared;
}

interface Compared {
  readonly tradewind: number;
  readonly low: number;
  readonly middle: number;
  readonly high: number;
  /** Of the HPA itself, in a run of its own. */
  readonly hpa: number;
}

/** One week with Tradewind and its shadow, and the same with the HPA. */
export async function week(obstacle: Obstacle, actuators: Actuators, seed: number): Promise<Week> {
  const { plant } = obstacle;
  const { application, startMs, warmUpSeconds } = plant;
  const shadow = new Shadow(emptyShadow(application.name, application.namespace));
  const everything = (): ShadowComparison | undefined => shadow.comparison(0, Number.POSITIVE_INFINITY);
  const countsFromMs = startMs + 1e3 * warmUpSeconds;
  let warmUp: ShadowComparison | undefined;
  await run({
    obstacle,
    contender: {
      ...HPA_CPU,
      name: "shadowed",
      start: (setting) => startOurs(setting, { choice: "auto", shadow }),
    },
    actuators,
    seed,
    onWindow: ({ nowMs }) => {
      if (nowMs <= countsFromMs) warmUp = everything();
    },
  });
  const whole = everything();
  if (whole === undefined) throw new Error(`no model decided on ${plant.name}, seed ${seed}`);
  const since = (value: (sums: ShadowComparison) => number): number =>
    value(whole) - (warmUp === undefined ? 0 : value(warmUp));
  const paid = { cost: 0, hours: 0 };
  const watched: Contender = {
    ...HPA_CPU,
    start: (setting, parameters) => ({
      ...HPA_CPU.start(setting, parameters),
      onWindow: ({ windowSet }) => {
        if (windowSet.startMs < countsFromMs) return;
        paid.hours += hoursOf(windowSet);
        paid.cost += hoursOf(windowSet) * priceOf(windowSet, application);
      },
    }),
  };
  const hpa = await run({ obstacle, contender: watched, actuators: "replicas", seed });
  const hours = since(({ seconds }) => seconds) / 3_600;
  const requests = since((sums) => sums.requests);
  return {
    plant: plant.name,
    seed,
    cost: {
      tradewind: since(({ cost }) => cost) / hours,
      low: since(({ hpaCost }) => hpaCost.low) / hours,
      middle: since(({ hpaCost }) => hpaCost.middle) / hours,
      high: since(({ hpaCost }) => hpaCost.high) / hours,
      hpa: paid.cost / paid.hours,
    },
    over: {
      tradewind: since(({ requestsOver }) => requestsOver) / requests,
      low: since(({ hpaRequestsOver }) => hpaRequestsOver.low) / requests,
      middle: since(({ hpaRequestsOver }) => hpaRequestsOver.middle) / requests,
      high: since(({ hpaRequestsOver }) => hpaRequestsOver.high) / requests,
      hpa: hpa.requestsOver,
    },
  };
}

const hoursOf = ({ endMs, startMs }: WindowSet): number => (endMs - startMs) / 3_600_000;

/** Price an hour of the replicas that were ready. */
const priceOf = ({ windows }: WindowSet, { prices }: Obstacle["plant"]["application"]): number =>
  windows.reduce((sum, window) => {
    const size = containerSize(window);
    const { replicasReady: replicas = 0 } = window;
    return size === undefined ? sum : sum + costPerHour({ ...size, replicas }, prices);
  }, 0);
