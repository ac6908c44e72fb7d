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
  /** How long it runs, where the benchmark takes a length. */
  readonly minutes?: number | undefined;
  /** How many seconds of life pass in one, where the benchmark takes a speed. */
  readonly speed?: number | undefined;
  /** Says on standard error what is being done, with an ETA for what takes more than two seconds. */
  readonly progress: (text: string) => void;
}
