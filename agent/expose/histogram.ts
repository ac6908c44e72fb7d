import type { TextFormat } from "./format.ts";

/** A Prometheus histogram without labels. */
export class Histogram {
  readonly #name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;
  #count = 0;

  /** @param bounds upper bounds in rising order, without infinity */
  constructor(name: string, help: string, bounds: readonly number[]) {
    this.#name = name;
    this.#help = help;
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length);
  }

  observe(value: number): void {
    this.#sum += value;
    this.#count += 1;
    const at = this.#bounds.findIndex((bound) => value <= bound);
    if (at >= 0) this.#counts[at] = (this.#counts[at] ?? 0) + 1;
  }

  text(format: TextFormat): string {
    // OpenMetrics writes whole bounds with a decimal point, text 0.0.4 as Go prints them.
    const shown = (bound: number): string =>
      format === "openmetrics" && Number.isInteger(bound) ? `${bound}.0` : `${bound}`;
    let below = 0;
    const buckets = this.#bounds.map((bound, index) => {
      below += this.#counts[index] ?? 0;
      return `${this.#name}_bucket{le="${shown(bound)}"} ${below}\n`;
    });
    return `# HELP ${this.#name} ${this.#help}\n# TYPE ${this.#name} histogram\n${buckets.join("")}${this.#name}_bucket{le="+Inf"} ${this.#count}\n${this.#name}_sum ${this.#sum}\n${this.#name}_count ${this.#count}\n`;
  }
}
