import type { Forwarded } from "./headers.ts";

interface HeardPeer {
  lastSequence: number;
  heardMs: number;
}

const MAX_PEERS = 64;

/**
 * Keeps account of what the peers forward: every batch has a number, so that one that was lost on the way is noticed,
 * and one that came twice is not counted twice.
 */
export class PeerReception {
  /** Batches that peers had for us and that never came. */
  missedTotal = 0;
  private readonly ownInstance: string;
  private readonly heard = new Map<string, HeardPeer>();
  private missedAtMs = Number.NEGATIVE_INFINITY;

  constructor(ownInstance: string) {
    this.ownInstance = ownInstance;
  }

  /**
   * Notes a batch, or a sign of life when it is empty.
   * @returns whether its spans are to be counted
   */
  note({ instance, sequence }: Forwarded, isEmpty: boolean, nowMs: number): boolean {
    if (instance === this.ownInstance) return false;
    const peer = this.heard.get(instance);
    if (peer === undefined) {
      this.makeRoom();
      this.heard.set(instance, { lastSequence: sequence, heardMs: nowMs });
      return !isEmpty;
    }
    peer.heardMs = nowMs;
    const expected = peer.lastSequence + (isEmpty ? 0 : 1);
    if (sequence < expected) return false;
    if (sequence > expected) {
      this.missedTotal += sequence - expected;
      this.missedAtMs = nowMs;
    }
    peer.lastSequence = sequence;
    return !isEmpty;
  }

  /** When the peer was last heard of; undefined for one never heard. */
  heardMs(instance: string): number | undefined {
    return this.heard.get(instance)?.heardMs;
  }

  /** When batches were last found missing. */
  get lastMissedMs(): number {
    return this.missedAtMs;
  }

  private makeRoom(): void {
    if (this.heard.size < MAX_PEERS) return;
    const [oldest] = [...this.heard].sort(([, a], [, b]) => a.heardMs - b.heardMs);
    if (oldest !== undefined) this.heard.delete(oldest[0]);
  }
}
