import { availableParallelism, totalmem } from "node:os";

/** What this machine, or the container we run in, has. */
export interface MachineFacts {
  readonly cpuCores: number;
  readonly memoryBytes: number;
  /** What could be taken now without swapping. */
  readonly memoryAvailableBytes: number;
}

export function readMachine(): MachineFacts {
  const constrainedBytes = process.constrainedMemory();
  return {
    cpuCores: availableParallelism(),
    // 0 or beyond the machine's memory: not constrained.
    memoryBytes: constrainedBytes > 0 ? Math.min(constrainedBytes, totalmem()) : totalmem(),
    memoryAvailableBytes: process.availableMemory(),
  };
}

const COPY_BYTES = 32 * 2 ** 20;
const COPY_ROUNDS = 6;

/** Bytes per second that one core copies within memory: the fastest of a few rounds of 32 MiB, about 50 ms in all. */
export function measureCopyRate(): number {
  const from = Buffer.alloc(COPY_BYTES, 1);
  const to = Buffer.alloc(COPY_BYTES, 2);
  let fastest = 0;
  for (let round = 0; round < COPY_ROUNDS; round += 1) {
    const startMs = performance.now();
    from.copy(to);
    fastest = Math.max(fastest, COPY_BYTES / ((performance.now() - startMs) / 1e3));
  }
  return fastest;
}
