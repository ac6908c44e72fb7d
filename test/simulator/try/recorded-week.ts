import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { HPA_CPU } from "@tradewind/simulator/contenders/hpa.ts";
import { recorded } from "@tradewind/simulator/contenders/recorded.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import type { Obstacle } from "@tradewind/simulator/contenders/run.ts";

/** Windows of a simulated application under an HPA. */
export async function windowsOf(obstacle: Obstacle, seed: number): Promise<WindowSet[]> {
  const sets: WindowSet[] = [];
  await run({ obstacle, contender: recorded(HPA_CPU, sets), actuators: "replicas", seed });
  return sets;
}

/** The same windows as if each had taken so long, the last one ending at `endMs`: for servers that take minutes. */
export const stretched = (sets: readonly WindowSet[], stepMs: number, endMs: number): WindowSet[] =>
  sets.map((set, place) => {
    const ends = endMs - (sets.length - 1 - place) * stepMs;
    const times = { startMs: ends - stepMs, endMs: ends };
    return { ...set, ...times, windows: set.windows.map((window) => ({ ...window, ...times })) };
  });
