/** Values that are told apart, and pods of each that are remembered. */
const MOST_VALUES = 16;
const MOST_PODS = 1_000;
const MOST_SERVICES = 1_000;
/** Values that no span named for so long are forgotten. */
const FORGOTTEN_MS = 600_000;

interface Place {
  /** Pods of the application's workloads that name it. */
  readonly pods: Set<string>;
  readonly services: Set<string>;
  seenMs: number;
}

/** Values of an attribute by which clusters, environments and the like are told apart: which of them is the application's. */
export class Places {
  private readonly places = new Map<string, Place>();
  private readonly own: string | undefined;
  private nowMs = 0;

  /** @param own value of the application; undefined where nobody said it */
  constructor(own: string | undefined) {
    this.own = own;
  }

  refresh(nowMs: number): void {
    this.nowMs = nowMs;
    for (const [value, { seenMs }] of this.places)
      if (nowMs - seenMs > FORGOTTEN_MS) this.places.delete(value);
  }

  /**
   * Notes that spans of a service name the place. @returns whether it is another one than the application's
   * @param pods those of its pods that are the application's
   * @param ofService only what the same service named before counts: others may be called differently
   */
  isOther(value: string, service: string, pods: readonly string[], ofService = false): boolean {
    if (this.own !== undefined) return value !== this.own;
    let place = this.places.get(value);
    if (place === undefined && this.places.size < MOST_VALUES) {
      place = { pods: new Set(), services: new Set(), seenMs: this.nowMs };
      this.places.set(value, place);
    }
    if (place !== undefined) {
      place.seenMs = this.nowMs;
      if (place.services.size < MOST_SERVICES) place.services.add(service);
      for (const pod of pods) if (place.pods.size < MOST_PODS) place.pods.add(pod);
    }
    if (place?.pods.size !== 0) return false;
    return [...this.places.values()].some(
      (other) => other.pods.size > 0 && (!ofService || other.services.has(service)),
    );
  }

  /** Places of which one service sends, where the pods do not tell which is the application's. */
  doubtful(): readonly string[] {
    const possible = [...this.places].filter(([, { pods }]) => pods.size > 0);
    const asked = possible.length > 0 ? possible : [...this.places];
    const isDoubtful = asked.some(([value, place]) =>
      asked.some(([name, other]) => name !== value && isOneOrTheOther(place, other)),
    );
    return isDoubtful ? asked.map(([value]) => value) : [];
  }
}

/** Two places whose pods have other names are both the application's. */
function isOneOrTheOther(a: Place, b: Place): boolean {
  if (!overlaps(a.services, b.services)) return false;
  return (a.pods.size === 0 && b.pods.size === 0) || overlaps(a.pods, b.pods);
}

const overlaps = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  [...a].some((value) => b.has(value));
