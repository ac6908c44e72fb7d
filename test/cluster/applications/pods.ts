/** Pods of each component at one moment, and what all of them request of CPU. */
export interface PodTotals {
  readonly pods: Readonly<Record<string, number>>;
  readonly requestedCores: number;
}

export interface PodSample extends PodTotals {
  readonly nowMs: number;
}

/** From one moment of a run on there were so many. */
export interface PodCount {
  readonly atSeconds: number;
  readonly pods: number;
}

const podsOf = ({ pods }: PodSample): number => Object.values(pods).reduce((sum, count) => sum + count, 0);

export interface Integrals {
  /** Of the number of pods. */
  readonly podSeconds: number;
  /** Of the CPU that they request, which is what sizes move beside replicas. */
  readonly coreSeconds: number;
}

/** Integrals between two moments. Each sample holds until the next, the first also before it. */
export function integralsOf(samples: readonly PodSample[], startMs: number, endMs: number): Integrals {
  let [podSeconds, coreSeconds] = [0, 0];
  for (const [index, sample] of samples.entries()) {
    const fromMs = index === 0 ? startMs : Math.max(startMs, sample.nowMs);
    const untilMs = Math.min(endMs, samples[index + 1]?.nowMs ?? endMs);
    const seconds = Math.max(0, untilMs - fromMs) / 1_000;
    podSeconds += seconds * podsOf(sample);
    coreSeconds += seconds * sample.requestedCores;
  }
  return { podSeconds, coreSeconds };
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
