/** One question to one exporter about one service, and what came back. */
export interface Poll {
  /** Middle of the call on the clock of `performance`, ms since the epoch. */
  readonly atMs: number;
  readonly exporter: number;
  readonly service: string;
  /** The value as KEDA takes it: the float when above zero, else the int; absent when the call failed. */
  readonly value?: number;
  /** Status and message of a failed call. */
  readonly problem?: string;
  readonly latencyMs: number;
}

export interface PollerOptions {
  /** `host:port` of each exporter. */
  readonly exporters: readonly string[];
  readonly namespace: string;
  readonly services: readonly string[];
  /** Between two questions to the same exporter. */
  readonly everyMs: number;
  readonly deadlineMs: number;
}

export const nowOnClock = (): number => performance.timeOrigin + performance.now();
