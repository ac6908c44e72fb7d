/** Resources of a container that Tradewind sizes. */
export const SIZED = ["cpuCores", "memoryBytes"] as const;
export type SizedResource = (typeof SIZED)[number];

/** What Kubernetes calls them. */
export const RESOURCE_NAMES: Readonly<Record<SizedResource, "cpu" | "memory">> = {
  cpuCores: "cpu",
  memoryBytes: "memory",
};

/** What a container is given, or should be. */
export type ContainerSize = Readonly<Partial<Record<SizedResource, number>>>;

interface Point {
  readonly atMs: number;
  readonly size: ContainerSize;
}

/** How long the recommendation must have been lower before a container is made smaller, s. */
export const SHRINK_AFTER_SECONDS: Readonly<Record<SizedResource, number>> = {
  cpuCores: 60,
  memoryBytes: 3_600,
};

/** How long it must have watched before anything is made smaller, s. */
export const WATCHED_SECONDS: Readonly<Record<SizedResource, number>> = { cpuCores: 300, memoryBytes: 3_600 };

/** A plan every few seconds adds nothing: one point per quarter of a minute is kept. */
const MIN_GAP_MS = 15_000;

/**
 * Remembers the sizes recommended for one service. More is given at once; less than what runs only when nothing larger was
 * recommended for {@link SHRINK_AFTER_SECONDS}, and never before it has watched for {@link WATCHED_SECONDS}: what runs may be larger for
 * a reason that was seen before. A size that nothing runs at is not held: its node may have no room for it.
 */
export class SizeHistory {
  private readonly sinceMs: number;
  private points: Point[] = [];

  /** @param sinceMs monotonic */
  constructor(sinceMs: number) {
    this.sinceMs = sinceMs;
  }

  record(size: ContainerSize, nowMs: number): void {
    const last = this.points.at(-1);
    if (last !== undefined && nowMs - last.atMs < MIN_GAP_MS) {
      this.points[this.points.length - 1] = { atMs: last.atMs, size: larger(last.size, size) };
    } else this.points.push({ atMs: nowMs, size });
    const oldestMs = nowMs - Math.max(...Object.values(SHRINK_AFTER_SECONDS)) * 1e3;
    this.points = this.points.filter(({ atMs }) => atMs >= oldestMs);
  }

  /**
   * The size to give now; undefined when none was recommended.
   * @param running what containers have now, the largest
   */
  settled(resource: SizedResource, running: number | undefined, nowMs: number): number | undefined {
    const newest = this.points.at(-1)?.size[resource];
    if (newest === undefined) return undefined;
    const afterMs = SHRINK_AFTER_SECONDS[resource] * 1e3;
    const seen = this.points.flatMap(({ atMs, size }) =>
      atMs >= nowMs - afterMs && size[resource] !== undefined ? [size[resource]] : [],
    );
    const highest = Math.max(newest, ...seen);
    const hasWatched = nowMs - this.sinceMs >= WATCHED_SECONDS[resource] * 1e3;
    if (running === undefined) return highest;
    return hasWatched ? Math.max(newest, Math.min(highest, running)) : Math.max(newest, running);
  }
}

function larger(a: ContainerSize, b: ContainerSize): ContainerSize {
  const size: Partial<Record<SizedResource, number>> = {};
  for (const resource of SIZED) {
    const values = [a[resource], b[resource]].filter((value) => value !== undefined);
    if (values.length > 0) size[resource] = Math.max(...values);
  }
  return size;
}
