import { z } from "zod";
import { CAUSE_TYPES } from "./cause.ts";
import { Count, EpochMs, NonNegative, ObjectName, ServiceName } from "./quantity.ts";

/** Who says what the cause was: a person, whoever injected the fault, or a change that was carried out. */
export const LABEL_SOURCES = ["operator", "injected", "verified"] as const;

const CauseType = z.enum(CAUSE_TYPES);

/** What the cause of a missed objective was, as somebody knows: `POST /v1/labels` of the predictor. */
export const CauseLabel = z
  .strictObject({
    /** The newest explanation of this time is judged; of a moment, the nearest within five minutes. */
    fromMs: EpochMs,
    toMs: EpochMs,
    service: ServiceName,
    type: CauseType.optional(),
    source: z.enum(LABEL_SOURCES).exclude(["verified"]),
  })
  .refine(({ fromMs, toMs }) => toMs >= fromMs, { path: ["toMs"], message: "must not be before fromMs" });
export type CauseLabel = z.infer<typeof CauseLabel>;

/** How a named cause stands to what the cause was. */
export const JUDGEMENTS = ["first", "among", "wrong", "none"] as const;

/** One explanation judged. */
export const CauseJudgement = z.strictObject({
  /** Of the explanation. */
  atMs: EpochMs,
  /** `built-in`, or the name of a model. */
  reasoner: z.string().min(1).max(200),
  source: z.enum(LABEL_SOURCES),
  /** What the cause was. */
  service: ServiceName,
  type: CauseType.optional(),
  /** The service was named first, named too, others were, or none was. */
  verdict: z.enum(JUDGEMENTS),
});
export type CauseJudgement = z.infer<typeof CauseJudgement>;

/** What sets the level of a self time: four rules of one line, the queueing curve, and the latency network. */
export const LEVEL_EXPERTS = ["lastValue", "median", "kernel", "logLinear", "curve", "network"] as const;

/** How well the self time of one service was known over its last windows, before each was seen: errors are mean |ln(measured / expected)|. */
export const ServiceAccuracy = z.strictObject({
  service: ServiceName,
  /** What sets the level now. */
  expert: z.enum(LEVEL_EXPERTS),
  error: NonNegative,
  /** Share of the windows within the interval that should hold 0.8 of them. */
  coverage: z.number().min(0).max(1),
  windows: Count,
  /** The best rule of one line, and its error. */
  rule: z.enum(LEVEL_EXPERTS),
  ruleError: NonNegative,
  /** Of curve and network together, which say what other sizes come to. */
  modelError: NonNegative,
  /** The models do clearly worse than that rule: no more than a fifth is taken from the service at a time. */
  isHeldNear: z.boolean(),
});
export type ServiceAccuracy = z.infer<typeof ServiceAccuracy>;

/** How well a route's percentile was known, one window before each: errors are mean |ln(measured / expected)| of some 40 windows. */
export const RouteAccuracy = z.strictObject({
  route: z.string().max(200),
  windows: Count,
  modelError: NonNegative,
  /** Of the rule of one line: it stays as it was. */
  ruleError: NonNegative,
});
export type RouteAccuracy = z.infer<typeof RouteAccuracy>;

export const ACCURACY_SCHEMA = "tradewind.dev/accuracy/v1";

/** How often causes were right that were named: `GET /v1/accuracy` of the predictor. */
export const Accuracy = z.strictObject({
  schema: z.literal(ACCURACY_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  /** By who named them and who judged. */
  causes: z
    .array(
      z.strictObject({
        reasoner: z.string().min(1).max(200),
        source: z.enum(LABEL_SOURCES),
        judged: Count,
        first: Count,
        among: Count,
      }),
    )
    .max(64),
  /** Changes of sizes during incidents of which the models were asked before: carried out, and with the outcome that they expected. */
  counterfactuals: z.strictObject({ executed: Count, agreed: Count }),
  /** Absent in answers of releases that did not say it. */
  services: z.array(ServiceAccuracy).max(10_000).optional(),
  routes: z.array(RouteAccuracy).max(1_000).optional(),
});
export type Accuracy = z.infer<typeof Accuracy>;
