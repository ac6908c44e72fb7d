import type { Clock } from "@tradewind/core/process/clock.ts";
import { FairPlaces } from "@tradewind/core/net/fair-places.ts";
import type { ReceiverLimits } from "./limits.ts";
import { malformed, overloaded, tooFast } from "./refusal.ts";
import type { Refusal } from "./refusal.ts";
import { SenderRates } from "./sender-rates.ts";

/** A request that was let in. */
export interface Call {
  readonly sender: string;
  /** Aborted, with the refusal as its reason, when the call must make way for another one or its sender hung up. */
  readonly signal: AbortSignal;
  /** Holds more bytes of its body: it makes way for others later than those of which a byte came before. @throws Refusal 503 */
  hold(bytes: number): void;
  /** Its body is whole: it makes way for no other of its sender. */
  whole(): void;
  /** Its sender hung up: it needs no answer. What it holds stays held until {@link end}. */
  abandon(): void;
  /** Gives back everything, once nothing of the body is kept. Safe to call twice. */
  end(): void;
}

/**
 * Lets requests in, so that no sender takes what others need: places for calls, memory for bodies, and spans and bytes per
 * second. A sender is a remote address. Where there is no place, the call whose last byte came longest ago makes way: one that is half sent
 * and waits, also for others behind the same address.
 */
export class Admission {
  readonly rates: SenderRates;
  private readonly limits: ReceiverLimits;
  private readonly clock: Clock;
  private readonly places: FairPlaces;
  private readonly heldBySender = new Map<string, number>();
  private heldBytes = 0;

  constructor(limits: ReceiverLimits, clock: Clock) {
    this.limits = limits;
    this.clock = clock;
    this.rates = new SenderRates(limits);
    this.places = new FairPlaces({
      maxPlaces: limits.maxConcurrentRequests,
      maxPerSender: Math.min(limits.maxConcurrentRequests, limits.maxSenderRequests),
    });
  }

  /** @throws Refusal 429 or 503 */
  admit(sender: string): Call {
    this.refuseTooFast(sender);
    const ending = new AbortController();
    const place = this.places.take(sender, () => ending.abort(this.tooManyCalls()));
    if (place === undefined) throw this.tooManyCalls();
    let held = 0;
    return {
      sender,
      signal: ending.signal,
      hold: (bytes) => {
        place.idle();
        if (!this.takeBytes(sender, bytes)) throw this.tooManyBytes();
        held += bytes;
      },
      whole: () => place.busy(),
      abandon: () => ending.abort(malformed("the sender hung up before its spans were taken")),
      end: () => {
        place.free();
        this.takeBytes(sender, -held);
        held = 0;
      },
    };
  }

  /** @throws Refusal 429 when the sender is ahead of its rates */
  refuseTooFast(sender: string): void {
    const seconds = this.rates.waitSeconds(sender, this.clock.monotonicMs());
    if (seconds === undefined) return;
    const { maxSenderBytesPerSecond, maxSenderSpansPerSecond, maxSenderWork } = this.limits;
    const most = `${maxSenderSpansPerSecond} spans, ${maxSenderBytesPerSecond} bytes or ${maxSenderWork} s of work per second`;
    throw tooFast(`more than ${most} from ${sender}; come back after ${seconds} s`, seconds);
  }

  private takeBytes(sender: string, bytes: number): boolean {
    const { maxBufferedBytes, maxSenderBufferedBytes } = this.limits;
    const own = (this.heldBySender.get(sender) ?? 0) + bytes;
    if (bytes > 0 && (this.heldBytes + bytes > maxBufferedBytes || own > maxSenderBufferedBytes))
      return false;
    this.heldBytes += bytes;
    if (own > 0) this.heldBySender.set(sender, own);
    else this.heldBySender.delete(sender);
    return true;
  }

  private tooManyCalls(): Refusal {
    return overloaded("calls", "too many requests at once", this.limits.retryAfterSeconds);
  }

  private tooManyBytes(): Refusal {
    return overloaded("memory", "too many bytes at once", this.limits.retryAfterSeconds);
  }
}
