import { Application } from "@tradewind/core/contract/application.ts";
import { FixedService } from "@tradewind/core/contract/override.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import { PolicyChoice } from "@tradewind/core/contract/policy-choice.ts";
import { Count, EpochMs, NodeClassName, ServiceName } from "@tradewind/core/contract/quantity.ts";
import { ContainerRange } from "@tradewind/core/contract/workload.ts";
import { WindowSet } from "@tradewind/core/contract/window.ts";
import { z } from "zod";
import type { Sensitivities } from "./cost/price/sensitivities.ts";
import type { WhatIf } from "./cost/price/what-if.ts";
import type { ServiceQueue } from "./facts/queue-estimate.ts";
import { PolicySettings } from "./facts/settings.ts";
import type { SloStanding } from "./facts/verdict.ts";
import { PolicyState } from "./state.ts";

/** Records of releases that had policy `plan` are decided on again by `auto`, which took its place. */
const RecordedChoice = z.preprocess((choice) => (choice === "plan" ? "auto" : choice), PolicyChoice);

export const INPUTS_SCHEMA = "tradewind.dev/policy-inputs/v1";

/** Everything one decision depends on: equal inputs give equal decisions, bit for bit. */
export const PolicyInputs = z.strictObject({
  schema: z.literal(INPUTS_SCHEMA),
  choice: RecordedChoice,
  application: Application,
  settings: PolicySettings,
  state: PolicyState,
  windowSet: WindowSet,
  /** What the largest node has room for; absent where the nodes are not known. */
  largestContainer: z
    .strictObject({ cpuCores: z.number().positive(), memoryBytes: z.number().positive() })
    .optional(),
  /** What a LimitRange lets each container be; absent where none does. */
  containerLimits: ContainerRange.optional(),
  /** What pods of the application have of the nodes and may have more; absent where the nodes are not known. */
  allNodes: z
    .strictObject({ cpuCores: z.number().positive(), memoryBytes: z.number().positive() })
    .optional(),
  /**
   * What pods leave of the nodes that pods of the application run on, or may be started on. Absent where the nodes are not known, and where no
   * container can be resized and no pod waits for a node.
   */
  nodes: z
    .array(
      z.strictObject({
        name: z.string().min(1).max(253),
        leftCores: z.number().min(0),
        takesPods: z.boolean(),
        refuses: z.array(ServiceName).max(10_000).optional(),
        pods: z.array(z.strictObject({ service: ServiceName, pods: Count })).max(10_000),
      }),
    )
    .max(20_000)
    .optional(),
  /** CPU of the next node that an autoscaler can add for pods of the application, cores; absent where nothing adds any. */
  comingCores: z.number().positive().optional(),
  /** Pods more that nodes take of a service that something other than CPU keeps from them; absent where nothing does. */
  podsMore: z.record(ServiceName, Count).optional(),
  /** Services that people hold, pause or keep at a floor: plans are made around them. Absent where there are none. */
  overrides: z.array(FixedService).max(10_000).optional(),
  /** CPU that is left of nodes that take pods, cores by node class; absent where all nodes are of one class. */
  roomByNodeClass: z.record(NodeClassName, z.number().positive()).optional(),
  /**
   * Rate at which requests have begun since the window over that at which they began in it; absent unless it is larger
   * beyond chance, which is why this window is decided on once more.
   */
  surgeRatio: z.number().min(1).optional(),
  nowMs: EpochMs,
});
export type PolicyInputs = z.infer<typeof PolicyInputs>;

/** The part of a plan that a decision determines; the rest says which process published it. */
export type DecidedPlan = Omit<Plan, "schema" | "sequence" | "predictorStartedAtMs">;

export interface PolicyOutcome {
  readonly state: PolicyState;
  readonly plan: DecidedPlan;
  readonly queues: readonly ServiceQueue[];
  /** How the window stands to the objective; absent without traffic. */
  readonly slo?: SloStanding;
  /** What one more unit of each service is worth; absent where no live models decided. */
  readonly sensitivities?: Sensitivities;
  /** The models at the sizes that the decision started from; absent like the sensitivities. */
  readonly whatIf?: WhatIf;
}
