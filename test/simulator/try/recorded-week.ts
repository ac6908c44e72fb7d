import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { Contender } from "@tradewind/simulator/contenders/contender.ts";
import { HPA_CPU } from "@tradewind/simulator/contenders/hpa.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import type { Obstacle } from "@tradewind/simulator/contenders/run.ts";

/** Windows of a simulated application under an HPA. */
export async function windowsOf(obstacle: Obstacle, seed: number): Promise<WindowSet[]> {
  const sets: WindowSet[] = [];
  const recorder: Contender = {
    ...HPA_CPU,
    start(setting, parameters) {
      const brain = HPA_CPU.start(setting, parameters);
      return {
        ...brain,
        async onWindow(window) {
          sets.push(window.windowSet);
          await brain.onWindow?.(window);
        },
      };
    },
  };
  await run({ obstacle, contender: recorder, actuators: "replicas", seed });
  return sets;
}

/** The same windows as if each had taken so long, the last one ending at `endMs`: for servers that take minutes. */
export const stretched = (sets: readonly WindowSet[], stepMs: number, endMs: number): WindowSet[] =>
  sets.map((set, place) => {
    const ends = endMs - (sets.length - 1 - place) * stepMs;
    const times = { startMs: ends - stepMs, endMs: ends };
    return { ...set, ...times, windows: set.windows.map((window) => ({ ...window, ...times })) };
  });
