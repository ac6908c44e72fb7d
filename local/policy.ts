import { POLICY_CHOICES, removedChoice } from "@tradewind/core/contract/policy-choice.ts";
import type { PolicyChoice } from "@tradewind/core/contract/policy-choice.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { z } from "zod";

/**
 * What decides in a run: one of Tradewind's policies, a HorizontalPodAutoscaler on CPU, or KEDA on requests per second.
 * The last two are what people have without Tradewind; then its processes watch and decide nothing.
 */
export type Policy =
  | {
      readonly kind: "tradewind";
      readonly policy: PolicyChoice;
      /** The predictor plans until its students are known, and is gone then: the scaler decides by them alone. */
      readonly isByStudents?: true;
    }
  /** Target of mean CPU use over what each replica requests, 0 to 1. */
  | { readonly kind: "hpa"; readonly cpuRatio: number }
  /** Target of requests per second for each replica. */
  | { readonly kind: "keda-rps"; readonly requestsPerSecond: number };

/** How the policies are written, for `--help` and messages. */
export const POLICY_FORMS = [...POLICY_CHOICES, "students", "hpa:PERCENT", "keda-rps:RATE"].join(", ");

/**
 * Reads `auto`, `hpa:60` (percent of the requested CPU) or `keda-rps:20` (requests per second and replica).
 * @throws TradewindError `invalid-policy` that lists the forms
 */
export function parsePolicy(text: string): Policy {
  const policy = POLICY_CHOICES.find((each) => each === text);
  if (policy !== undefined) return { kind: "tradewind", policy };
  if (text === "students") return { kind: "tradewind", policy: "auto", isByStudents: true };
  const [, kind, number] = /^(hpa|keda-rps):(\d{1,6}(?:\.\d{1,3})?)$/.exec(text) ?? [];
  const value = Number(number);
  if (kind === "hpa" && value >= 1 && value <= 100) return { kind, cpuRatio: value / 100 };
  if (kind === "keda-rps" && value > 0) return { kind, requestsPerSecond: value };
  throw new TradewindError(
    "invalid-policy",
    removedChoice(text) ??
      `'${text.slice(0, 40)}' is no policy; write one of ${POLICY_FORMS} (for example hpa:60 or keda-rps:20)`,
  );
}

/** Adds what is wrong with a policy's text to a schema's issues. */
function checkPolicy(text: string, context: z.RefinementCtx): void {
  try {
    parsePolicy(text);
  } catch (error) {
    context.addIssue(describeError(error));
  }
}

/** The text of a policy on the command line, as it is written in reports. */
export const policyText = z.string().superRefine(checkPolicy);

/** What `--compare` takes when it names nothing: the autoscaler that most clusters have. */
export const DEFAULT_RIVAL = "hpa:60";

/** True for the report of a run, which is read; else the text is a policy, which runs. */
export const isRecording = (rival: string): boolean => rival.endsWith(".json");

/** A policy, or the path of a run's report. */
export const rivalText = z.string().superRefine((text, context) => {
  if (!isRecording(text)) checkPolicy(text, context);
});
