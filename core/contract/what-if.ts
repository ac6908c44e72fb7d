import { z } from "zod";
import { PolicyLabel } from "./plan.ts";
import { EpochMs, LatencyObjective, NonNegative, ObjectName, Ratio, ServiceName } from "./quantity.ts";

/** A size that is supposed for one service; what is absent stays as it is. CPU and memory of each container. */
export const SupposedService = z.strictObject({
  service: ServiceName,
  /** Absent: that of the application, which has no service in another one. */
  namespace: ObjectName.optional(),
  replicas: z.number().int().min(1).max(100_000).optional(),
  cpuCores: z.number().positive().max(10_000).optional(),
  memoryBytes: z.number().positive().max(1e15).optional(),
});
export type SupposedService = z.infer<typeof SupposedService>;

/** `POST /v1/what-if` of the predictor and of the scaler: nothing is changed by asking. */
export const WhatIfRequest = z.strictObject({
  /** Which of several applications; may be absent where there is one. */
  application: ObjectName.optional(),
  namespace: ObjectName.optional(),
  /** Load over the load that the last decision planned for. */
  load: z.number().min(0.01).max(100).default(1),
  services: z.array(SupposedService).max(1_000).default([]),
});
export type WhatIfRequest = z.infer<typeof WhatIfRequest>;

/** What the models expect of one route. */
export const PredictedRoute = z.strictObject({
  /** Predicted percentile of the objective, seconds. */
  latencySeconds: NonNegative,
  /** Interval of 90 % by the models' own uncertainty. */
  lowSeconds: NonNegative,
  highSeconds: NonNegative,
  /** Chance that a request takes longer than the objective, over the loads that may come. */
  overRatio: Ratio,
});
export type PredictedRoute = z.infer<typeof PredictedRoute>;

/** One service at one size. */
export const PredictedService = z.strictObject({
  replicas: NonNegative,
  cpuCores: NonNegative,
  memoryBytes: NonNegative,
  /** Of the whole service, at the load that is looked at. */
  requestsPerSecond: NonNegative,
  /** Predicted percentile of its self time; where it has no model, the measured one. */
  selfTimeSeconds: NonNegative,
});
export type PredictedService = z.infer<typeof PredictedService>;

/** Why a prediction may be wrong. */
export const WhatIfWarning = z.strictObject({
  code: z.enum(["far-from-measured", "few-windows"]),
  words: z.string().max(1_000),
});
export type WhatIfWarning = z.infer<typeof WhatIfWarning>;

const pair = <Schema extends z.ZodType>(schema: Schema) => z.strictObject({ now: schema, then: schema });

export const WHAT_IF_SCHEMA = "tradewind.dev/what-if/v1";

/**
 * What the models of the last decision expect. `now`: the sizes that the decision started from at the load that it planned for;
 * `then`: what was asked about.
 */
export const WhatIfAnswer = z.strictObject({
  schema: z.literal(WHAT_IF_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  decidedAtMs: EpochMs,
  policy: PolicyLabel,
  objective: LatencyObjective,
  /** Loads over that of the last window. */
  load: pair(z.number().positive()),
  /** Slowest first, by what is expected then. */
  routes: z
    .array(
      z.strictObject({
        route: z.string().max(200),
        /** Of all requests, times the route's weight. */
        share: NonNegative,
        objectiveSeconds: z.number().positive(),
        ...pair(PredictedRoute).shape,
        /** The last window; absent where the route had no requests. */
        lastWindow: z
          .strictObject({
            /** The objective's percentile as it was measured. */
            measuredSeconds: NonNegative,
            /** As the models expect it of that window's load; absent where other sizes ran than those of now. */
            predicted: PredictedRoute.optional(),
          })
          .optional(),
      }),
    )
    .max(1_000),
  /** Those asked about, in that order; where none was, all on users' routes. */
  services: z
    .array(
      z.strictObject({
        service: ServiceName,
        /** False: its size changes the cost alone, since no model of its self time is calibrated. */
        isModelled: z.boolean(),
        ...pair(PredictedService).shape,
      }),
    )
    .max(10_000),
  /** Of the services on users' routes, in the application's own currency. */
  costPerHour: pair(NonNegative),
  /** Share of all requests expected over their objective. */
  overRatio: pair(NonNegative),
  /** Empty where nothing speaks against the prediction. */
  warnings: z.array(WhatIfWarning).max(20).default([]),
});
export type WhatIfAnswer = z.infer<typeof WhatIfAnswer>;
