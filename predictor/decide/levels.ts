import type { Reason } from "@tradewind/core/contract/reason.ts";
import { distinct } from "@tradewind/core/contract/reasons.ts";
import { balanceQueues } from "./queue/queue-balancing.ts";
import { decideByCost } from "./cost/decide-by-cost.ts";
import { costWindow } from "./cost/learn/cost-window.ts";
import { learn } from "./cost/learn/learn.ts";
import type { CostMemory } from "./cost/learn/state.ts";
import { floorTarget, heldTarget } from "./facts/floor.ts";
import { namedServices } from "./facts/reasons.ts";
import type { Target } from "./facts/target.ts";
import { cpuGap, latencyGap } from "./window-facts.ts";
import type { Facts } from "./window-facts.ts";
import type { LearntModels, Level, LevelDecision } from "./level.ts";

const CHOSEN = { code: "static-policy" } as const;

/** What the platform wants now, whatever the latency. */
const STATIC: Level = {
  choices: ["static"],
  decide: ({ observations }) => ({
    reasons: [CHOSEN],
    decision: {
      policy: "static",
      targets: new Map(
        observations.map(({ service, window, baseReplicas }): [string, Target] => {
          const replicas = window?.replicasWanted ?? window?.replicasReady ?? baseReplicas;
          return [
            service,
            {
              replicas,
              policy: "static",
              reasons: [CHOSEN, { code: "replicas", fromReplicas: replicas, toReplicas: replicas }],
            },
          ];
        }),
      ),
    },
  }),
};

/** The cheapest sizes by one cost, once every service on a user's route has a calibrated model. */
const COST: Level = {
  choices: ["auto"],
  decide(facts, learned) {
    if (learned === undefined) return { reasons: latencyGap(facts) };
    const outcome = decideByCost(learned.memory, learned.window);
    if ("withoutModel" in outcome) {
      const services = outcome.withoutModel.map(({ observation }) => observation);
      return { reasons: [{ code: "models-missing", ...namedServices(services) }] };
    }
    const { level, memory, reasons, sensitivities, targets, whatIf } = outcome;
    return { reasons, memory, decision: { policy: level, targets, sensitivities, whatIf } };
  },
};

/** Replicas by the queues of the services, on top of what CPU demand needs. */
const QUEUE: Level = {
  choices: ["auto", "queue"],
  decide(facts) {
    const gap = latencyGap(facts);
    if (gap.length > 0) return { reasons: gap };
    const { reasons, ...balanced } = balanceQueues(facts.context, facts.observations, facts.verdict);
    return { reasons, decision: { policy: "queue", ...balanced } };
  },
};

/** At least the replicas that CPU demand needs; never fewer than now. */
const REACTIVE: Level = {
  choices: ["auto", "queue"],
  decide(facts) {
    const gap = cpuGap(facts);
    if (gap.length > 0) return { reasons: gap };
    return {
      reasons: [{ code: "cpu-only" }],
      decision: {
        policy: "reactive",
        targets: new Map(
          facts.observations.map((one) => [one.service, floorTarget(one, facts.context.settings)]),
        ),
      },
    };
  },
};

/** Nothing is known, nothing changes. */
const HOLD: Level = {
  choices: ["auto", "queue"],
  decide: ({ observations }) => ({
    reasons: [],
    decision: {
      policy: "hold",
      targets: new Map(observations.map((one) => [one.service, heldTarget(one)])),
    },
  }),
};

/** The levels of the ladder, highest first: the first one that can decide does. The last one always can. */
export const LEVELS: readonly Level[] = [STATIC, COST, QUEUE, REACTIVE, HOLD];

/** What a window has taught, where a level decides by it and the latency of users' requests is known. */
export function learnFrom(facts: Facts): LearntModels | undefined {
  if (!COST.choices.includes(facts.inputs.choice) || latencyGap(facts).length > 0) return undefined;
  const { context, inputs, observations, verdict } = facts;
  const window = costWindow(context, observations, verdict, inputs);
  return { window, memory: learn(inputs.state.cost, window) };
}

interface Ascent {
  readonly decision: LevelDecision;
  /** Why this level decides so, and why those above it do not. */
  readonly reasons: readonly Reason[];
  readonly memory: CostMemory | undefined;
}

/** Asks the levels in their order; the first that can decide does. */
export function climb(facts: Facts, learned: LearntModels | undefined): Ascent {
  const passed: Reason[] = [];
  for (const level of LEVELS) {
    if (!level.choices.includes(facts.inputs.choice)) continue;
    const { decision, memory = learned?.memory, reasons } = level.decide(facts, learned);
    if (decision !== undefined) return { decision, reasons: distinct([...reasons, ...passed]), memory };
    passed.push(...reasons);
  }
  throw new RangeError(`no level decides for policy '${facts.inputs.choice}'`);
}
