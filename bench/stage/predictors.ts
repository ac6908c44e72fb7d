import { z } from "zod";

const ASK_MS = 1_000;
const Header = z.looseObject({
  sequence: z.number(),
  predictorStartedAtMs: z.number(),
  complete: z.boolean().optional(),
});
/** The head of a predictor's newest plan. */
export type PlanHeader = z.infer<typeof Header>;

const Windows = z.looseObject({
  windows: z.array(z.looseObject({ service: z.string(), requestsPerSecond: z.number().optional() })),
});

/** What each predictor said last; undefined for one that does not answer. */
export async function headersOf(predictors: readonly string[]): Promise<(PlanHeader | undefined)[]> {
  return Promise.all(predictors.map(async (each) => ask(`${each}/v1/plan/header`, Header)));
}

/** Whether each has made a plan since `before` from all that it should have seen. */
export function haveNewPlans(
  before: readonly (PlanHeader | undefined)[],
  now: readonly (PlanHeader | undefined)[],
): boolean {
  return now.every((header, at) => {
    if (header === undefined || header.complete === false) return false;
    const old = before[at];
    return old?.sequence !== header.sequence || old.predictorStartedAtMs !== header.predictorStartedAtMs;
  });
}

/** Requests per second to a service that each predictor counts. */
export async function ratesOf(predictors: readonly string[], service: string): Promise<number[]> {
  return Promise.all(
    predictors.map(async (each) => {
      const set = await ask(`${each}/v1/windows`, Windows);
      return set?.windows.find((window) => window.service === service)?.requestsPerSecond ?? 0;
    }),
  );
}

async function ask<Schema extends z.ZodType>(
  url: string,
  schema: Schema,
): Promise<z.output<Schema> | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(ASK_MS) });
    return schema.parse(await answer.json());
  } catch {
    return undefined;
  }
}
