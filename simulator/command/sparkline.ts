import { mean } from "@tradewind/core/values/statistics.ts";

const BLOCKS = "▁▂▃▄▅▆▇█";

/** One character for each value, or for the mean of each group of them where there are more than `columns`; between their extremes. */
export function sparkline(values: readonly number[], columns: number): string {
  const size = Math.max(1, Math.ceil(values.length / columns));
  const means = Array.from({ length: Math.ceil(values.length / size) }, (_, at) =>
    mean(values.slice(at * size, (at + 1) * size)),
  );
  const [least, most] = [Math.min(...means), Math.max(...means)];
  return means
    .map((value) => {
      const share = most > least ? (value - least) / (most - least) : 1;
      return BLOCKS[Math.min(BLOCKS.length - 1, Math.floor(share * BLOCKS.length))] ?? "";
    })
    .join("");
}
