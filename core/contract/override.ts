import { z } from "zod";
import { APPLICATION_MODES } from "./plan.ts";
import { ChangeId, Count, EpochMs, ObjectName, ServiceName } from "./quantity.ts";
import type { Reason } from "./reason.ts";
import { isPrintable } from "../values/printable.ts";

/**
 * What a person may ask for in the place of the plan. `pause`: nothing is changed, KEDA is answered the current replica count. `hold`: exactly
 * this. `floor`: at least this. `undo`: what ran before the last change, held.
 */
export const OVERRIDE_KINDS = ["pause", "hold", "floor", "undo"] as const;
export type OverrideKind = (typeof OVERRIDE_KINDS)[number];

/** How long one lasts where nobody says, and the longest that one lasts: a person looks at it once a day. Chosen. ms */
export const DEFAULT_OVERRIDE_MS = 30 * 60_000;
export const MOST_OVERRIDE_MS = 24 * 3_600_000;
/** In force at once, of all applications. */
export const MOST_OVERRIDES = 1_000;

/** Of an application, a namespace or everything the narrower parts are absent. */
export const OverrideTarget = z.strictObject({
  namespace: ObjectName.optional(),
  application: ObjectName.optional(),
  service: ServiceName.optional(),
});
export type OverrideTarget = z.infer<typeof OverrideTarget>;

/** Sizes of a service: replicas, and cores and bytes of each container. */
const Sizes = {
  replicas: Count.optional(),
  cpuCores: z.number().positive().optional(),
  memoryBytes: z.number().positive().optional(),
};

/** One service with the sizes that it is held at. */
export const KeptSize = z.strictObject({ namespace: ObjectName, service: ServiceName, ...Sizes });
export type KeptSize = z.infer<typeof KeptSize>;

/** Printable text of one line: no controls, no characters that change the order of writing. */
export const OverrideText = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .refine(isPrintable, "must be printable and of one line");

/** How an override came to its end before its time, or at it. */
export const OVERRIDE_ENDS = ["released", "replaced", "expired"] as const;

export const Override = z.strictObject({
  id: ChangeId,
  kind: z.enum(OVERRIDE_KINDS),
  target: OverrideTarget,
  /** Sizes of each service that is held, in force or running when it was ordered; of one that is not here its last decision stays. */
  kept: z.array(KeptSize).max(10_000),
  startedAtMs: EpochMs,
  untilMs: EpochMs,
  /** Name of the token that was shown, or what the annotation says. */
  by: OverrideText,
  reason: OverrideText,
  ended: z
    .strictObject({ how: z.enum(OVERRIDE_ENDS), atMs: EpochMs, by: OverrideText.optional() })
    .optional(),
});
export type Override = z.infer<typeof Override>;

/** What a decision reads of the override that its service is under. */
export const OverrideInForce = z.strictObject({
  id: ChangeId,
  kind: z.enum(OVERRIDE_KINDS),
  ...Sizes,
  by: OverrideText,
  reason: OverrideText,
  untilMs: EpochMs,
  /** Its end on the clock of the plan. */
  endsAtMs: EpochMs,
  /** What is done with decisions without it. */
  mode: z.enum(APPLICATION_MODES),
});
export type OverrideInForce = z.infer<typeof OverrideInForce>;

/** `GET /v1/overrides` of the scaler, newest first. */
export const OverrideList = z.object({
  overrides: z
    .array(
      z.object({
        ...Override.omit({ kept: true }).shape,
        /** In one line. */
        text: z.string().max(1_000),
        /** What stands in its way, in words: a mode in which nothing is carried out. */
        notes: z.array(z.string().max(500)).max(20).optional(),
      }),
    )
    .max(2 * MOST_OVERRIDES),
  /** Whether overrides are taken here: with a token only. */
  takesOverrides: z.boolean().optional(),
  token: z.object({ name: z.string().max(63), scopes: z.array(z.string().max(20)).max(10) }).optional(),
});
export type OverrideList = z.infer<typeof OverrideList>;
export type ListedOverride = OverrideList["overrides"][number];

/** What a service is kept at while plans are made around it. */
export const FixedService = z.strictObject({ service: ServiceName, kind: z.enum(OVERRIDE_KINDS), ...Sizes });
export type FixedService = z.infer<typeof FixedService>;

/**
 * `POST /v1/overrides` of a predictor: what a scaler knows of, and what counts for each service of the application. The answer has what all
 * scalers know of.
 */
export const OverrideExchange = z.strictObject({
  overrides: z.array(Override).max(2 * MOST_OVERRIDES),
  services: z.array(FixedService).max(10_000),
});
export type OverrideExchange = z.infer<typeof OverrideExchange>;

/** Workloads whose annotations are passed on. */
export const MOST_ANNOTATED_SERVICES = 1_000;

/** What a predictor answers to it, and what annotations of the application's workloads order. */
export const OverrideAnswer = z.object({
  overrides: z.array(Override).max(10_000),
  annotated: z
    .array(z.object({ service: ServiceName, text: z.string().max(20_000) }))
    .max(MOST_ANNOTATED_SERVICES)
    .optional(),
});
export type OverrideAnswer = z.infer<typeof OverrideAnswer>;

/** `shop/checkout`, `application shop/hotel`, `everything`. */
export function targetText({ application, namespace, service }: OverrideTarget): string {
  if (service !== undefined) return namespace === undefined ? service : `${namespace}/${service}`;
  if (application !== undefined) return `application ${namespace}/${application}`;
  return namespace === undefined ? "everything" : `everything in ${namespace}`;
}

const VERBS = { pause: "paused", hold: "held", floor: "kept at a floor", undo: "set back and held" } as const;

/** `04:30 UTC`: an override ends within a day. */
const clockText = (epochMs: number): string => `${new Date(epochMs).toISOString().slice(11, 16)} UTC`;

/** `held by ann until 04:30 UTC: bad deploy`. The one place that says an override in words. */
export function overrideText({
  by,
  kind,
  reason,
  replicas,
  untilMs,
}: Pick<OverrideInForce, "by" | "kind" | "reason" | "untilMs"> & {
  readonly replicas?: number | undefined;
}): string {
  const size = replicas === undefined ? "" : ` (${replicas} ${replicas === 1 ? "replica" : "replicas"})`;
  return `${VERBS[kind]}${size} by ${by} until ${clockText(untilMs)}: ${reason}`;
}

export const overrideReason = ({ by, kind, reason, replicas, untilMs }: OverrideInForce): Reason => ({
  code: "override",
  override: kind,
  by,
  why: reason,
  ...(replicas !== undefined && { replicas }),
  untilMs,
});

/** How it ended. */
export const END_WORDS = {
  released: "released",
  replaced: "replaced by a newer one",
  expired: "its time is up",
} as const;

/** The same of one in a list, with how it ended. */
export function listedText(
  override: Pick<Override, "by" | "ended" | "kind" | "reason" | "untilMs"> & {
    readonly replicas?: number | undefined;
  },
): string {
  const { ended } = override;
  if (ended === undefined) return overrideText(override);
  const by = ended.by === undefined || ended.how === "expired" ? "" : ` by ${ended.by}`;
  return `${overrideText(override)}; over since ${clockText(ended.atMs)}: ${END_WORDS[ended.how]}${by}`;
}
