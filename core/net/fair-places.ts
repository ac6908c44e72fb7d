/** How many places there are, and how many of them one sender may hold. */
export interface PlaceLimits {
  readonly maxPlaces: number;
  /** Less than `maxPlaces`, so that one sender cannot take them all. */
  readonly maxPerSender: number;
}

/** A place that is held. A new one is idle. */
export interface Place {
  /** The place is at work; only a sender that holds more than its share loses such a place. */
  busy(): void;
  /** The place waits, and may have to make way: the one that has waited longest first. */
  idle(): void;
  /** Gives the place back. Safe to call twice, and after it was taken away. */
  free(): void;
}

/** What became of those who asked for a place. */
export interface PlaceCounts {
  readonly held: number;
  /** Got none: no place could make way. */
  readonly refused: number;
  /** Places taken away for a new one. */
  readonly evicted: number;
}

interface HeldPlace {
  readonly sender: string;
  readonly evict: () => void;
  /** Number of the moment since which it is idle; undefined while it is busy. */
  idleSince: number | undefined;
}

/**
 * Shares places (connections, calls) fairly among senders. At `maxPerSender` a new one takes the place of the sender's
 * longest idle one. At `maxPlaces` the sender that holds the most gives one up: the longest idle, or else the oldest. So a
 * sender that holds less than its share is always served, whatever the others do.
 */
export class FairPlaces {
  private readonly limits: PlaceLimits;
  /** By sender, the oldest first. */
  private readonly bySender = new Map<string, Set<HeldPlace>>();
  private held = 0;
  private moments = 0;
  private refused = 0;
  private evicted = 0;

  constructor(limits: PlaceLimits) {
    this.limits = limits;
  }

  get counts(): PlaceCounts {
    const { evicted, held, refused } = this;
    return { held, refused, evicted };
  }

  /** @param evict called when the place is taken away again @returns undefined when there is none */
  take(sender: string, evict: () => void): Place | undefined {
    if (!this.makeWay(sender)) {
      this.refused += 1;
      return undefined;
    }
    const place: HeldPlace = { sender, evict, idleSince: this.nextMoment() };
    const own = this.bySender.get(sender) ?? new Set();
    this.bySender.set(sender, own.add(place));
    this.held += 1;
    return {
      busy: () => {
        place.idleSince = undefined;
      },
      idle: () => {
        place.idleSince = this.nextMoment();
      },
      free: () => this.remove(place),
    };
  }

  /** @returns whether there is a place for one more of the sender */
  private makeWay(sender: string): boolean {
    const own = this.bySender.get(sender);
    if ((own?.size ?? 0) >= this.limits.maxPerSender) return this.evict(longestIdle(own ?? []));
    if (this.held < this.limits.maxPlaces) return true;
    let largest: Set<HeldPlace> = new Set();
    for (const places of this.bySender.values()) if (places.size > largest.size) largest = places;
    if (largest.size <= (own?.size ?? 0) + 1) return this.evict(longestIdle(this.all()));
    return this.evict(longestIdle(largest) ?? largest.values().next().value);
  }

  private *all(): Generator<HeldPlace> {
    for (const places of this.bySender.values()) yield* places;
  }

  private evict(place: HeldPlace | undefined): boolean {
    if (place === undefined) return false;
    this.evicted += 1;
    this.remove(place);
    place.evict();
    return true;
  }

  private remove(place: HeldPlace): void {
    const own = this.bySender.get(place.sender);
    if (own?.delete(place) !== true) return;
    this.held -= 1;
    if (own.size === 0) this.bySender.delete(place.sender);
  }

  private nextMoment(): number {
    this.moments += 1;
    return this.moments;
  }
}

function longestIdle(places: Iterable<HeldPlace>): HeldPlace | undefined {
  let longest: HeldPlace | undefined;
  for (const place of places) {
    if (place.idleSince === undefined) continue;
    if (longest?.idleSince === undefined || place.idleSince < longest.idleSince) longest = place;
  }
  return longest;
}
