import { z } from "zod";
import { parseDurationSeconds } from "../values/units.ts";

const PERIOD = /^[1-9][0-9]{0,2}[hd]$/;

/** Which part of the requests that may be over an objective is planned with, and over which time they are counted. */
export const ErrorBudget = z.strictObject({
  use: z
    .number("must be a share between 0 and 1: 0.5 plans with half of the budget")
    .gt(0, "must be above 0: 0.5 plans with half of the budget")
    .max(1, "must not be above 1: 0.5 plans with half of the budget")
    .default(0.5)
    .describe(
      "Share of the requests that may be over the objective that plans spend; the rest is for what nobody plans.",
    ),
  period: z
    .string()
    .max(4)
    .regex(PERIOD, "must be hours or days: 12h, 1d, 30d")
    .default("1d")
    .describe("Time over which requests over the objective are counted, in hours or days: 12h, 1d, 30d."),
});
export type ErrorBudget = z.infer<typeof ErrorBudget>;

/** The period in seconds. */
export const periodSeconds = ({ period }: Pick<ErrorBudget, "period">): number =>
  parseDurationSeconds(period);
