import { z } from "zod";

/** Labels of one series. */
export type Labels = Readonly<Record<string, string>>;

/** A text that is equal for equal labels; the metric's name does not count. */
export function labelKey(labels: Labels, without: readonly string[] = []): string {
  return Object.keys(labels)
    .filter((label) => label !== "__name__" && !without.includes(label))
    .sort()
    .map((label) => `${label}\u0001${labels[label] ?? ""}`)
    .join("\u0002");
}

/**
 * One series of an answer. Samples stay unread here: there may be millions of them, and each is checked when it is
 * used, see samples.ts.
 */
export const Series = z.looseObject({
  metric: z.record(z.string(), z.string()),
  value: z.unknown().optional(),
  values: z.array(z.unknown()).optional(),
  histogram: z.unknown().optional(),
  histograms: z.array(z.unknown()).optional(),
});
export type Series = z.infer<typeof Series>;

/** Prometheus HTTP API, format overview: `status`, then `data` or `errorType` and `error`. */
export const Failure = z.looseObject({
  status: z.literal("error"),
  errorType: z.string().max(200).optional(),
  error: z.string().optional(),
});

const envelope = <Data extends z.ZodType>(
  data: Data,
): z.ZodObject<{
  status: z.ZodLiteral<"success">;
  data: Data;
  warnings: z.ZodDefault<z.ZodNullable<z.ZodArray<z.ZodString>>>;
  isPartial: z.ZodOptional<z.ZodBoolean>;
}> =>
  z.object({
    status: z.literal("success"),
    data,
    warnings: z.array(z.string()).nullable().default([]),
    /** VictoriaMetrics cluster: some storage node did not answer. */
    isPartial: z.boolean().optional(),
  });

export const QueryAnswer = envelope(
  z.object({
    resultType: z.enum(["vector", "matrix", "scalar", "string"]),
    result: z.array(z.unknown()),
  }),
);
export const NamesAnswer = envelope(z.array(z.string()).nullable());
export const SeriesAnswer = envelope(z.array(z.record(z.string(), z.string())).nullable());
export const BuildInfoAnswer = envelope(z.looseObject({ version: z.string().max(200).optional() }));
