import { z } from "zod";
import { PolicyLabel } from "@tradewind/core/contract/plan.ts";
import { Count, ObjectName, patternedText, Ratio, ServiceName } from "@tradewind/core/contract/quantity.ts";

/** Most services that a status lists: beyond some thousand an object outgrows etcd's 1.5 MB. */
export const MAX_STATUS_SERVICES = 1_000;

/** What a person wants to know at a glance; `True` is the good state of each but `Constrained` and `Acting`, which have none. */
export const CONDITION_TYPES = ["Ready", "Acting", "ObjectiveMet", "DataComplete", "Constrained"] as const;
export type ConditionType = (typeof CONDITION_TYPES)[number];

/** As in `meta/v1`, so that `kubectl wait --for=condition=Ready` works. */
export const Condition = z.strictObject({
  type: z.enum(CONDITION_TYPES).describe("What it says something of."),
  status: z.enum(["True", "False", "Unknown"]).describe("Whether it is so."),
  reason: patternedText(64, /^[A-Z][A-Za-z0-9]*$/).describe("Why, in one word."),
  message: z.string().max(1_000).describe("Why, in a sentence."),
  lastTransitionTime: z.string().max(40).describe("RFC 3339."),
  observedGeneration: Count.optional().describe("Generation of the Application that it is of."),
});
export type Condition = z.infer<typeof Condition>;

const Millis = z.number().int().min(0);
const Text = z.string().max(64);
const Codes = z
  .array(Text)
  .max(32)
  .optional()
  .describe("Codes of the reasons; docs/reasons.md says what each means.");

/** What is recommended for one service. */
export const ServiceStatus = z.strictObject({
  name: ServiceName.describe("As in `services`."),
  namespace: ObjectName.describe("That its workload is in."),
  workload: z
    .strictObject({ kind: Text.describe("Its kind."), name: ObjectName.describe("Its metadata.name.") })
    .optional()
    .describe("What carries the replicas; absent when no workload of this name is known."),
  replicasReady: Count.optional().describe("Replicas that were ready when this was decided."),
  replicas: Count.describe("Replicas recommended."),
  cpu: Text.optional().describe("CPU recommended for each container, a quantity."),
  memory: Text.optional().describe("Memory recommended for each container, a quantity."),
  advised: z
    .array(z.enum(["cpu", "memory"]))
    .max(2)
    .optional()
    .describe("Sizes that are advice: the decision does not count on them and nothing moves them."),
  policy: PolicyLabel.describe("Level of the ladder that decided."),
  confidence: Ratio.describe("How sure the policy is, rounded."),
  currentMilliseconds: Millis.optional().describe("p95 of the flows through this service, before."),
  predictedMilliseconds: Millis.optional().describe("The same once the recommendation is in place."),
  reason: z.string().max(1_000).describe("Why, in the sentence that `tradewind status` shows."),
  reasonCodes: Codes,
  lastChange: z
    .string()
    .max(1_000)
    .optional()
    .describe("What the newest decision that changed a size changed, when and why."),
  override: z
    .string()
    .max(500)
    .optional()
    .describe("Who overrides the plan, until when and why; absent where nobody does."),
  guard: z.array(Text).max(64).describe("Guard steps that changed what the policy asked for."),
  valid: z.boolean().describe("False once the decision is too old to be served."),
  decidedAt: Text.describe("RFC 3339."),
  decisionId: Text.describe("Of the decision record: tradewind replay ID."),
});
export type ServiceStatus = z.infer<typeof ServiceStatus>;

/** Status of an Application, written by the leading exporter. */
export const ApplicationStatus = z.strictObject({
  observedGeneration: Count.optional().describe("Generation of the Application that this status is of."),
  conditions: z
    .array(Condition)
    .max(CONDITION_TYPES.length)
    .describe("What a person wants to know at a glance."),
  measuredMilliseconds: Millis.optional().describe("The objective's percentile as last measured."),
  predictedMilliseconds: Millis.optional().describe("The slowest flow once everything is in place."),
  policy: PolicyLabel.optional().describe("Level of the ladder that decides."),
  policyReason: z.string().max(500).optional().describe("Why this level decides."),
  policyReasonCodes: Codes,
  replicasReady: Count.optional().describe("Ready replicas of all services together."),
  replicasRecommended: Count.optional().describe("Recommended replicas of all services together."),
  replicas: Text.optional().describe("Ready and recommended replicas, for people: `12 → 15`."),
  costPerHour: Text.optional().describe(
    "Price of an hour of what runs and of what is recommended, by `prices`, of services whose replicas are known: `0.42 → 0.38`.",
  ),
  plannedAt: Text.optional().describe("RFC 3339."),
  serviceCount: Count.optional().describe("Services for which something is recommended."),
  services: z
    .array(ServiceStatus)
    .max(MAX_STATUS_SERVICES)
    .describe("What is recommended for each service, as far as there is room."),
  servicesOmitted: Count.optional().describe("Services that did not fit into the list."),
});
export type ApplicationStatus = z.infer<typeof ApplicationStatus>;
