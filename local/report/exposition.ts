/** A sample of the Prometheus text format: name, optional labels, value; a timestamp may follow. */
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? (\S+)/;

/**
 * Sum of the samples of one metric in a scrape.
 * @param label as the scrape writes it, `result="accepted"`; without it all samples count
 * @returns undefined when the scrape has none that is a finite number
 */
export function sumOfMetric(exposition: string, name: string, label = ""): number | undefined {
  let sum: number | undefined;
  for (const line of exposition.split("\n")) {
    const [, found, labels = "", value] = SAMPLE.exec(line) ?? [];
    if (found !== name || !labels.includes(label) || !Number.isFinite(Number(value))) continue;
    sum = (sum ?? 0) + Number(value);
  }
  return sum;
}

/** Adds up a counter of a process that may be restarted: a value lower than the last one starts from 0 again. */
export interface CounterTally {
  observe(value: number): void;
  readonly total: number;
}

export function createCounterTally(): CounterTally {
  let finished = 0;
  let last = 0;
  return {
    observe(value) {
      if (value < last) finished += last;
      last = value;
    },
    get total() {
      return finished + last;
    },
  };
}
