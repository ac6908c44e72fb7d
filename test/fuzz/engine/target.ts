import type { Rng } from "@tradewind/core/values/rng.ts";

/**
 * One thing that reads bytes or values from outside, and what must hold whatever they are. An input is a `Uint8Array`, or a
 * value as `JSON.parse` gives it.
 */
export interface Target {
  /** `folder/what`, for `--target` and the report. */
  readonly name: string;
  /** `parser`: pure and fast; `slow`: a file, or many parsers in a row; `port`: a connection to a real process. */
  readonly kind: "parser" | "slow" | "port";
  /** Draws an input. Must use nothing but the generator, or cases could not be repeated. */
  make(rng: Rng): unknown;
  /** Gives the input to the product. @throws Broken when the answer is not what the contract allows */
  run(input: unknown): void | Promise<void>;
  /** Starts what `run` needs, before the first case. */
  open?(): Promise<void>;
  close?(): Promise<void>;
  /** Cases that may run side by side; 1 when absent. */
  readonly lanes?: number;
  /** Looks after every `probeEvery` cases whether the process is still well. @throws Broken */
  probe?(): Promise<void>;
  readonly probeEvery?: number;
}

/** What a target did that it must not do. `kind` is a stable word: a smaller input must break it in the same way. */
export class Broken extends Error {
  readonly kind: string;

  constructor(kind: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "Broken";
    this.kind = kind;
  }
}

/** An input that broke a target, and how to try it again. */
export interface Finding {
  readonly target: string;
  readonly seed: number;
  /** Number of the case, or of the first of those that may have done it. */
  readonly case: number;
  /** More than 1 where a process was found unwell after several cases. */
  readonly cases: number;
  readonly kind: string;
  readonly message: string;
  /** The input after minimising, as text. */
  readonly input: string;
  readonly inputBytes: number;
  /** Length of the input as it was drawn. */
  readonly drawnBytes: number;
}

export const replayCommand = ({ target, seed, case: number, cases }: Finding): string =>
  `npm run fuzz -- --target ${target} --seed ${seed} --case ${number}${cases > 1 ? ` --cases ${cases}` : ""}`;
