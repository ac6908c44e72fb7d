/** How many pods of each component there were at one moment. */
export interface PodSample {
  readonly nowMs: number;
  readonly pods: Readonly<Record<string, number>>;
}

/** From one moment of a run on there were so many. */
export interface PodCount {
  readonly atSeconds: number;
  readonly pods: number;
}

const total = ({ pods }: PodSample): number => Object.values(pods).reduce((sum, count) => sum + count, 0);

/** Integral of the number of pods between two moments. Each sample holds until the next, the first also before it. */
export function podSeconds(samples: readonly PodSample[], startMs: number, endMs: number): number {
  const sum = samples.reduce((area, sample, index) => {
    const fromMs = index === 0 ? startMs : Math.max(startMs, sample.nowMs);
    const untilMs = Math.min(endMs, samples[index + 1]?.nowMs ?? endMs);
    return area + total(sample) * Math.max(0, untilMs - fromMs);
  }, 0);
  return sum / 1_000;
}

/** What each component had at the start, and when that changed. */
export function podCounts(
  samples: readonly PodSample[],
  startMs: number,
  components: readonly string[],
): Record<string, PodCount[]> {
  const of = (component: string): PodCount[] => {
    const counts: PodCount[] = [];
    for (const { nowMs, pods } of samples) {
      const count = pods[component] ?? 0;
      const atSeconds = Math.max(0, Math.round((nowMs - startMs) / 1_000));
      if (counts.at(-1)?.pods !== count) counts.push({ atSeconds, pods: count });
    }
    return counts;
  };
  return Object.fromEntries(components.map((component) => [component, of(component)]));
}
