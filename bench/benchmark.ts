import type { ParseArgsConfig } from "node:util";

/** One benchmark; see bench/main.ts. */
export interface Benchmark {
  /** One line for the list. */
  readonly summary: string;
  /** Options of its own, as `parseArgs` of node:util takes them. */
  readonly options?: NonNullable<ParseArgsConfig["options"]>;
  /**
   * Measures and returns the figures; keys are an interface and stay stable.
   * @throws Error when it lacks its data or a tool it cannot do without: it never reports a figure it did not measure
   */
  run(options: BenchmarkOptions): Promise<Record<string, unknown>>;
}

export interface BenchmarkOptions {
  readonly seed: number;
  /** A short run that shows it works; its figures are not to be quoted. */
  readonly quick: boolean;
  /** Says on standard error what is being done, with an ETA for what takes more than two seconds. */
  readonly progress: (text: string) => void;
  /** What was given for its own options. */
  readonly values: Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;
}
