import type { Reason } from "@tradewind/core/contract/reason.ts";
import { distinct } from "@tradewind/core/contract/reasons.ts";
import { balanceQueues } from "./queue/queue-balancing.ts";
import { decideByCost } from "./cost/decide-by-cost.ts";
import { residualsInUse } from "./cost/inputs/residuals.ts";
import { floorTarget, heldTarget } from "./facts/floor.ts";
import type { Target } from "./facts/target.ts";
import { cpuGap, latencyGap } from "./window-facts.ts";
import type { Facts } from "./window-facts.ts";
import type { PolicyInputs } from "./inputs.ts";
import type { Level, LevelDecision } from "./level.ts";

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
  decide(facts) {
    const gap = latencyGap(facts);
    if (gap.length > 0) return { reasons: gap };
    const { context, inputs, models, observations, verdict } = facts;
    const {
      allNodes,
      comingCores,
      largestContainer,
      nodes,
      profiles = [],
      roomByNodeClass,
      settings,
      state,
      surgeRatio,
    } = inputs;
    const { level, memory, reasons, sensitivities, targets, whatIf } = decideByCost({
      context,
      observations,
      verdict,
      settings: settings.cost,
      memory: state.cost,
      surgeRatio,
      allNodes,
      comingCores,
      largestContainer,
      nodes,
      roomByNodeClass,
      residuals: residualsInUse(profiles, models),
    });
    const decision = targets && { policy: level, targets, sensitivities, whatIf };
    return { reasons, cost: memory, ...(decision && { decision }) };
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

interface Climbed {
  readonly decision: LevelDecision;
  /** Why this level decides so, and why those above it do not. */
  readonly reasons: readonly Reason[];
  readonly cost: PolicyInputs["state"]["cost"];
}

/** Asks the levels in their order; the first that can decide does. */
export function climb(facts: Facts): Climbed {
  const passed: Reason[] = [];
  let { cost } = facts.inputs.state;
  for (const level of LEVELS) {
    if (!level.choices.includes(facts.inputs.choice)) continue;
    const outcome = level.decide(facts);
    cost = outcome.cost ?? cost;
    if (outcome.decision === undefined) {
      passed.push(...outcome.reasons);
      continue;
    }
    return { decision: outcome.decision, reasons: distinct([...outcome.reasons, ...passed]), cost };
  }
  throw new RangeError(`no level decides for policy '${facts.inputs.choice}'`);
}
