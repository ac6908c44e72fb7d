/** A container's CPU time at one moment. */
export interface CpuReading {
  readonly id: string;
  readonly atMs: number;
  readonly cpuSeconds: number;
}

/** The mean CPU use of each container over the last `resolutionSeconds`, as metrics-server gives it. */
export interface CpuMeter {
  /** Takes the newest reading of every running container; the others are forgotten. */
  observe(readings: readonly CpuReading[]): void;
  /** Cores; undefined until two readings lie `resolutionSeconds` apart. */
  usageCores(id: string): number | undefined;
}

/** @param resolutionSeconds time between the two readings that a mean is taken of; metrics-server's is 15 s */
export function createCpuMeter(resolutionSeconds: number): CpuMeter {
  let kept = new Map<string, readonly CpuReading[]>();
  return {
    observe(readings) {
      kept = new Map(
        readings.map((reading) => {
          const before = kept.get(reading.id) ?? [];
          const isNew = reading.atMs > (before.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY);
          const all = isNew ? [...before, reading] : before;
          // The newest of those that are old enough, and all that came after it.
          const from = all.findLastIndex(({ atMs }) => reading.atMs - atMs >= resolutionSeconds * 1e3);
          return [reading.id, all.slice(Math.max(0, from))];
        }),
      );
    },
    usageCores(id) {
      const readings = kept.get(id);
      const first = readings?.[0];
      const last = readings?.at(-1);
      if (first === undefined || last === undefined) return undefined;
      const seconds = (last.atMs - first.atMs) / 1e3;
      return seconds < resolutionSeconds ? undefined : (last.cpuSeconds - first.cpuSeconds) / seconds;
    },
  };
}
