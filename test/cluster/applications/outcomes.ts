import { z } from "zod";

/** What became of one request. */
export interface Outcome {
  readonly latencySeconds: number;
  /** Not answered with 2xx, or not in time. */
  readonly failed: boolean;
  /** Sent while the load was highest. */
  readonly inPeak: boolean;
}

export interface Latency {
  readonly requests: number;
  readonly failed: number;
  /** Share of the requests that failed or took longer than the objective. */
  readonly over: number;
  /** Nearest rank; a request that failed counts as one that took the whole timeout. */
  readonly p95Seconds: number;
}

/** Nanoseconds of latency, and an empty error where the answer came whole. */
const Result = z.object({ code: z.number().int(), latency: z.number().nonnegative(), error: z.string() });

/** Reads `vegeta encode --to=json`: one result in each line. @throws Error with the line that is none */
export function parseResults(text: string, timeoutSeconds: number, inPeak: boolean): Outcome[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line, index) => {
      const { code, error, latency } = parseLine(line, index + 1);
      const failed = code < 200 || code > 299 || error !== "";
      const seconds = latency / 1e9;
      return { latencySeconds: failed ? Math.max(seconds, timeoutSeconds) : seconds, failed, inPeak };
    });
}

function parseLine(line: string, number: number): z.infer<typeof Result> {
  try {
    return Result.parse(JSON.parse(line));
  } catch (error) {
    throw new Error(`line ${number} is not a result of vegeta: ${line.slice(0, 200)}`, { cause: error });
  }
}

/** @throws Error where there was no request, of which nothing can be said */
export function judgeLatency(outcomes: readonly Outcome[], objectiveSeconds: number): Latency {
  const sorted = outcomes.map(({ latencySeconds }) => latencySeconds).sort((a, b) => a - b);
  const p95Seconds = sorted[Math.ceil(0.95 * sorted.length) - 1];
  if (p95Seconds === undefined) throw new Error("no request was sent");
  const over = outcomes.filter(({ failed, latencySeconds }) => failed || latencySeconds > objectiveSeconds);
  return {
    requests: outcomes.length,
    failed: outcomes.filter(({ failed }) => failed).length,
    over: over.length / outcomes.length,
    p95Seconds,
  };
}
