import { phaseAt } from "../load/phases.ts";
import type { Phase } from "../load/phases.ts";
import { startInterference } from "./interference.ts";
import type { Interference } from "./interference.ts";

export interface DisturbanceOptions {
  readonly phases: readonly Phase[];
  readonly kind: "auto" | "built-in" | "none";
  /** Where to look for stress-ng. */
  readonly searchPath: string;
  readonly onSpawn: (pid: number) => void;
  readonly say: (text: string) => void;
}

/** Starts the noisy neighbour when its phase begins and stops it when it ends. */
export interface Disturbance {
  /** To be called about once a second. @param atS seconds since the start of the load */
  follow(atS: number): Promise<void>;
  /** What disturbs now, for the screen. */
  readonly source: string | undefined;
  stop(): Promise<void>;
}

export function createDisturbance(options: DisturbanceOptions): Disturbance {
  const { phases, kind, say, onSpawn } = options;
  const durationS = phases.at(-1)?.toS ?? 0;
  let current: Interference | undefined;

  const stop = async (): Promise<void> => {
    const ended = current;
    current = undefined;
    await ended?.stop();
  };
  return {
    get source() {
      return current?.source;
    },
    async follow(atS) {
      const { name, toS } = phaseAt(phases, atS);
      const isWanted = name === "interference" && kind !== "none";
      if (!isWanted) return stop();
      if (current !== undefined) return;
      const seconds = toS - (atS % durationS);
      const searchPath = kind === "built-in" ? "" : options.searchPath;
      current = startInterference({ seconds, searchPath, onSpawn });
      say(`${current.source} disturbs the application for ${Math.round(seconds)} s`);
    },
    stop,
  };
}
