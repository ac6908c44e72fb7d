import { Explanation } from "@tradewind/core/contract/explanation.ts";
import { WhatIfAnswer } from "@tradewind/core/contract/what-if.ts";
import type { WhatIfRequest } from "@tradewind/core/contract/what-if.ts";
import { askFor } from "@tradewind/core/net/endpoint/own-process.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { formatLatency, formatSeconds } from "@tradewind/core/values/amounts.ts";
import type { z } from "zod";

/** Keys that ask the predictor. */
export const QUESTION_KEYS = ["w", "e"] as const;
type QuestionKey = (typeof QUESTION_KEYS)[number];

/** What a person asked with a key, and the predictor's answer as lines of the picture. */
export interface Questions {
  /** Asks, or hides the answer of the same key. Never throws: what went wrong is the answer. */
  toggle(key: QuestionKey, atS: number): Promise<void>;
  /** Empty while nothing is asked. */
  readonly lines: readonly string[];
}

const TIMEOUT_SECONDS = 5;
/** A load that is asked about beside the sizes. */
const MORE_LOAD = 1.5;

/** @param predictor its address */
export function createQuestions(predictor: string): Questions {
  let shown: QuestionKey | undefined;
  let lines: readonly string[] = [];
  const title = { w: "what if", e: "explain" } as const;
  return {
    get lines() {
      return lines;
    },
    async toggle(key, atS) {
      if (shown === key) {
        [shown, lines] = [undefined, []];
        return;
      }
      shown = key;
      lines = [`${title[key]}: asking the predictor ...`];
      const answer = await (key === "w" ? whatIfLines(predictor) : explainLines(predictor)).catch(
        (error: unknown) => [describeError(error)],
      );
      if (shown === key) lines = [`${title[key]}, asked at ${formatSeconds(atS)}:`, ...answer];
    },
  };
}

async function ask<Answer>(
  predictor: string,
  path: string,
  schema: z.ZodType<Answer>,
  body?: object,
): Promise<Answer> {
  return askFor(
    { name: "predictor", url: predictor },
    { timeoutSeconds: TIMEOUT_SECONDS },
    { path, ...(body && { json: body }) },
    { absent: "no-answer", schema },
  );
}

/** What one more replica of each service would do, the most useful first, and more load. */
async function whatIfLines(predictor: string): Promise<string[]> {
  const whatIf = async (request: z.input<typeof WhatIfRequest>): Promise<WhatIfAnswer> =>
    ask(predictor, "v1/what-if", WhatIfAnswer, request);
  const now = await whatIf({});
  const asked = now.services.map(async ({ now: { replicas }, service }) => ({
    what: `${service} ${replicas} → ${replicas + 1} replicas`,
    answer: await whatIf({ services: [{ service, replicas: replicas + 1 }] }),
  }));
  const [answer, ...sized] = await Promise.all([whatIf({ load: MORE_LOAD }), ...asked]);
  const rows = [
    { what: `${MORE_LOAD} times the load`, answer },
    ...sized.toSorted((a, b) => tailOf(a.answer) - tailOf(b.answer)),
  ];
  const width = Math.max(...rows.map(({ what }) => what.length));
  const measured = now.routes.flatMap(({ lastWindow }) => lastWindow?.measuredSeconds ?? []);
  const was = measured.length === 0 ? "" : ` (measured ${formatLatency(Math.max(...measured))})`;
  return [
    ...now.warnings.map(({ words }) => `  careful: ${words}`),
    `  ${"now".padEnd(width)}  p95 ${formatLatency(tailOf(now))}${was} of ${formatLatency(now.objective.seconds)}, ${now.costPerHour.now.toFixed(4)} per hour`,
    ...rows.map(
      ({ answer, what }) =>
        `  ${what.padEnd(width)}  p95 ${formatLatency(tailOf(answer))}, ${answer.costPerHour.then.toFixed(4)} per hour`,
    ),
  ];
}

/** Predicted for the slowest route, seconds. */
const tailOf = ({ routes }: WhatIfAnswer): number =>
  Math.max(0, ...routes.map(({ then }) => then.latencySeconds));

async function explainLines(predictor: string): Promise<string[]> {
  const { causes, counterfactuals, missing, notCauses, summary } = await ask(
    predictor,
    "v1/explain",
    Explanation,
  );
  return [
    summary,
    ...causes.flatMap(({ confidence, evidence, service }) =>
      evidence
        .slice(0, 3)
        .map(
          ({ baseline, value, words }) =>
            `  ${service} (confidence ${confidence.toFixed(2)}): ${words} ${rounded(value)}${baseline === undefined ? "" : `, before ${rounded(baseline)}`}`,
        ),
    ),
    ...counterfactuals
      .filter(({ ends }) => ends)
      .map(
        ({ from, resource, service, tailAfterSeconds, to }) =>
          `  would end it: ${service} ${resource} ${rounded(from)} → ${rounded(to)}, p95 ${formatLatency(tailAfterSeconds)}`,
      ),
    ...notCauses.slice(0, 3).map(({ service, why }) => `  not ${service}: ${why}`),
    ...missing.slice(0, 2).map((each) => `  not known: ${each}`),
  ];
}

const rounded = (value: number): string => String(Number(value.toPrecision(3)));
