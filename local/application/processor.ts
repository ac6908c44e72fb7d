import type { Bucket } from "../quota/token-bucket.ts";
import type { Calibration, Machine } from "./work.ts";

/** CPU work between two looks at the network, ms. */
const SLICE_MILLIS = 1;

export interface ProcessorOptions {
  readonly machine: Machine;
  readonly calibration: Calibration;
  /** Share of the work that walks memory. */
  readonly memoryBoundRatio: number;
  /** Present where no cgroup enforces the CPU limit. */
  readonly bucket?: Pick<Bucket, "pay">;
}

/** Runs the CPU work of requests in slices, in turn: processor sharing among the requests in the replica. */
export interface Processor {
  /** Resolves when `cpuMillis` of work are done, or early when `signal` says that nobody waits for it any more. */
  run(cpuMillis: number, signal: AbortSignal): Promise<void>;
}

const nextTurn = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export function createProcessor(options: ProcessorOptions): Processor {
  const { machine, calibration, memoryBoundRatio, bucket } = options;
  return {
    async run(cpuMillis, signal) {
      for (let left = cpuMillis; left > 0 && !signal.aborted; left -= SLICE_MILLIS) {
        const slice = Math.min(left, SLICE_MILLIS);
        machine.spin(slice * (1 - memoryBoundRatio) * calibration.spinsPerMilli);
        machine.touch(slice * memoryBoundRatio * calibration.touchesPerMilli);
        bucket?.pay();
        await nextTurn();
      }
    },
  };
}
