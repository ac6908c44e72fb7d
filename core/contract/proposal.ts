import { z } from "zod";
import { FRESH_SECONDS } from "./freshness.ts";
import { PolicyLabel } from "./plan.ts";
import { ChangeId, EpochMs, NonNegative, ObjectName, ServiceName } from "./quantity.ts";

/** What a proposal may ask for; the paper's `createInstance` is one replica more. */
export const PROPOSAL_RULES = ["scale", "resize", "place", "floor", "ceiling", "hold", "sample"] as const;
export const CREATE_INSTANCE = "createInstance";

const KNOWN_RULES: ReadonlySet<string> = new Set([...PROPOSAL_RULES, CREATE_INSTANCE]);

/** A known rule each; `createInstance` may be followed by a host name, which is not used. */
function areRules(rules: readonly string[]): boolean {
  const other = rules.filter((rule) => !KNOWN_RULES.has(rule)).length;
  return other < rules.length && other <= (rules.includes(CREATE_INSTANCE) ? 1 : 0);
}

/**
 * A change of one service in InfraLLM's form (section IV, "Output Format"): `name`, `time`, `rules`, `configuration` and `reason` as
 * printed; the rest is ours and may be left out. `null` in its place means that nothing is proposed.
 */
export const Proposal = z.strictObject({
  /** `service-namespace-cluster`. */
  name: ServiceName,
  /** Wins over the name, which cannot be taken apart for certain. */
  target: z
    .strictObject({ service: ServiceName, namespace: ObjectName.optional(), cluster: ServiceName.optional() })
    .optional(),
  /** From when on, with its offset from UTC. */
  time: z.iso.datetime({ offset: true }),
  until: z.iso.datetime({ offset: true }).optional(),
  rules: z
    .array(z.string().min(1).max(253))
    .min(1)
    .max(8)
    .refine(areRules, `must be of ${[...KNOWN_RULES].join(", ")}`),
  configuration: z.strictObject({
    replicas: z.number().int().min(0).max(100_000).optional(),
    /** Cores of each container. */
    cpu: z.number().positive().max(10_000).optional(),
    /** Of each container, a Kubernetes quantity. */
    memory: z.string().min(1).max(40).optional(),
    storage: z.string().min(1).max(64).optional(),
    network: z.string().min(1).max(64).optional(),
    /** With `sample`: longest time between two readings of its containers, seconds. */
    sampleSeconds: z.number().int().min(FRESH_SECONDS.least).max(FRESH_SECONDS.most).optional(),
  }),
  /** Of who proposes, percent; shown beside ours. */
  confidence: z.number().min(0).max(100).optional(),
  /** When it should be undone. Checked in form only: every change is watched by the scaler. */
  rollback: z
    .strictObject({
      tailOverObjective: z.number().positive().max(100),
      withinSeconds: z.number().positive().max(86_400),
    })
    .optional(),
  /** What should be checked first. In form only: every change is checked for all. */
  requires: z
    .array(z.strictObject({ check: z.enum(["nodeRoom", "approval"]) }))
    .max(8)
    .optional(),
  reason: z.string().max(1_000),
});
export type Proposal = z.infer<typeof Proposal>;

/** Why a proposal holds, or not: the first of these that applies. */
export const PROPOSAL_VERDICTS = [
  /** It asks for no change: `null`, `hold`, or the size that there is. */
  "nothing",
  /** It is not of the form, or lacks the number that its rule needs. */
  "format",
  "no-such-service",
  /** Its name fits more than one service. */
  "ambiguous-name",
  /** More than two windows old, over already, or more than a day ahead. */
  "untimely",
  /** Beyond the bounds of the service or the budget of the application. */
  "out-of-bounds",
  /** Fewer replicas than the CPU in use needs. */
  "below-need",
  /** It shrinks while the objective is missed, or grows beyond what one step may. */
  "unsafe",
  /** A quota of the namespace does not have so much left. */
  "no-room",
  /** No live model can say what it does. */
  "no-model",
  /** The live models expect a miss with it, and no improvement. */
  "model-disagrees",
  "kept",
] as const;

const Size = z.strictObject({
  replicas: NonNegative,
  cpuCores: NonNegative.optional(),
  memoryBytes: NonNegative.optional(),
});

/** How often agents are to read the containers of a service, and in which time. */
export const SamplingRequest = z.strictObject({
  seconds: z.number().int().min(FRESH_SECONDS.least).max(FRESH_SECONDS.most),
  fromMs: EpochMs,
  untilMs: EpochMs,
});
export type SamplingRequest = z.infer<typeof SamplingRequest>;

/** A proposal that was checked. Nothing is carried out by checking. */
export const CheckedProposal = z.strictObject({
  verdict: z.enum(PROPOSAL_VERDICTS),
  /** In words, with its numbers. */
  why: z.string().max(500),
  service: ServiceName.optional(),
  /** Sizes as they are, and as proposed. */
  now: Size.optional(),
  then: Size.optional(),
  /** What the live models expect: the worst route's latency over its objective, and the price of the application. */
  counterfactual: z
    .strictObject({
      ratioBefore: NonNegative,
      ratioAfter: NonNegative,
      costBeforePerHour: NonNegative,
      costAfterPerHour: NonNegative,
    })
    .optional(),
  /** Ours, percent: from precedents, the accuracy of the service's model, and how steady the load is. */
  confidence: z.number().min(0).max(100).optional(),
  /** What it asks of agents, in place of another size. */
  sampling: SamplingRequest.optional(),
  /** Changes of it that wait for a person now; absent where it was only checked, or where nothing of it is growth that helps. */
  changes: z.array(ChangeId).max(3).optional(),
  /** Of who proposes. */
  claimedConfidence: z.number().min(0).max(100).optional(),
});
export type CheckedProposal = z.infer<typeof CheckedProposal>;

export const PROPOSAL_CHECK_SCHEMA = "tradewind.dev/proposal-check/v1";
/** Proposals that are checked at once. */
export const MOST_PROPOSALS = 64;

/** `POST /v1/proposals` of the predictor, in the order of the proposals. */
export const ProposalCheck = z.strictObject({
  schema: z.literal(PROPOSAL_CHECK_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  decidedAtMs: EpochMs,
  policy: PolicyLabel,
  proposals: z.array(CheckedProposal).max(MOST_PROPOSALS),
});
export type ProposalCheck = z.infer<typeof ProposalCheck>;

/** What the last plan changes, one proposal for each service: `GET /v1/proposals` of the predictor. */
export const ProposalList = z.strictObject({
  proposals: z.array(Proposal).max(10_000),
});
export type ProposalList = z.infer<typeof ProposalList>;
