/** One benchmark; see bench/main.ts. */
export interface Benchmark {
  /** One line for the list. */
  readonly summary: string;
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
  /** The one part of a benchmark that is to be run, where it has parts. */
  readonly only?: string | undefined;
  /** Says on standard error what is being done, with an ETA for what takes more than two seconds. */
  readonly progress: (text: string) => void;
}
