import type { Tone } from "@tradewind/core/terminal/style.ts";

/** Green within the objective, yellow close to it, red beyond. */
export function toneOf(seconds: number | undefined, objectiveSeconds: number): Tone {
  if (seconds === undefined) return "dim";
  if (seconds > objectiveSeconds) return "red";
  return seconds > 0.8 * objectiveSeconds ? "yellow" : "green";
}
