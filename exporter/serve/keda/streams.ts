import { Metadata, status } from "@grpc/grpc-js";
import type { ServerWritableStream } from "@grpc/grpc-js";
import { senderAddress } from "@tradewind/core/net/connection-limits.ts";
import { FairPlaces } from "@tradewind/core/net/fair-places.ts";
import type { ScalerRequest } from "./codec.ts";

type Call = ServerWritableStream<ScalerRequest, Buffer>;

/** How to watch one workload: undefined means unknown, and then nothing is said. */
export interface Activity {
  readonly read: () => boolean | undefined;
  readonly encode: (active: boolean) => Buffer;
}

interface OpenStream {
  readonly call: Call;
  readonly activity: Activity | undefined;
  /** Gives back its places, and ends its timer. Safe to call twice. */
  readonly forget: () => void;
  last: boolean;
}

/** Messages a client may leave unread before it is let go. */
const MAX_UNREAD_MESSAGES = 16;

/**
 * The streams that KEDA holds open for `external-push` triggers. A stream says `true` when it opens on an active
 * workload and then speaks on transitions only, because every repeated `true` restarts KEDA's cooldown. Each stream
 * ends by itself, cleanly, so that clients spread again over all exporters.
 */
export class ActivityStreams {
  readonly #open = new Set<OpenStream>();
  readonly #maxStreams: number;
  readonly #lifetimeMs: number;
  readonly #maxPerAddress: number;
  readonly #places: FairPlaces;
  /**
   * Places of each address, by the namespaces of the ScaledObjects: KEDA is one address, and what one tenant writes takes no stream from
   * another one that has fewer.
   */
  readonly #ofAddress = new Map<string, FairPlaces>();

  constructor(limits: { maxStreams: number; maxPerAddress: number; lifetimeMs: number }) {
    this.#maxStreams = limits.maxStreams;
    this.#lifetimeMs = limits.lifetimeMs;
    const maxPerSender = Math.min(limits.maxPerAddress, limits.maxStreams);
    this.#maxPerAddress = maxPerSender;
    this.#places = new FairPlaces({ maxPlaces: limits.maxStreams, maxPerSender });
  }

  get size(): number {
    return this.#open.size;
  }

  /** Takes a call in. @returns false when there are too many; the call is then ended with RESOURCE_EXHAUSTED */
  open(call: Call, activity?: Activity): boolean {
    const free = this.#take(call, () => this.#end(stream));
    if (free === undefined) {
      endWith(
        call,
        status.RESOURCE_EXHAUSTED,
        `more than ${this.#maxStreams} streams are open on this scaler`,
      );
      return false;
    }
    const lifetime = setTimeout(() => this.#end(stream), this.#lifetimeMs).unref();
    const forget = (): void => {
      clearTimeout(lifetime);
      free();
      this.#open.delete(stream);
    };
    const stream: OpenStream = { call, activity, forget, last: false };
    this.#open.add(stream);
    call.once("close", forget).once("cancelled", forget).once("error", forget);
    this.#tell(stream);
    return true;
  }

  /** Takes a place among the namespaces of its address, and one among the addresses. @returns what gives them back */
  #take(call: Call, evict: () => void): (() => void) | undefined {
    const address = addressOf(call);
    const most = this.#maxPerAddress;
    const own = this.#ofAddress.get(address) ?? new FairPlaces({ maxPlaces: most, maxPerSender: most });
    const inAddress = own.take(call.request.namespace, evict);
    const place = inAddress && this.#places.take(address, evict);
    if (inAddress === undefined || place === undefined) {
      inAddress?.free();
      return undefined;
    }
    this.#ofAddress.set(address, own);
    // A sender with all its places does not get another one by losing the oldest.
    for (const each of [inAddress, place]) each.busy();
    return () => {
      inAddress.free();
      place.free();
      if (own.counts.held === 0) this.#ofAddress.delete(address);
    };
  }

  /** Says on every stream what changed. */
  announce(): void {
    for (const stream of this.#open) this.#tell(stream);
  }

  /** Ends every stream cleanly. */
  endAll(): void {
    for (const stream of this.#open) this.#end(stream);
  }

  #tell(stream: OpenStream): void {
    const active = stream.activity?.read();
    if (stream.activity === undefined || active === undefined || active === stream.last) return;
    stream.last = active;
    if (stream.call.writableLength >= MAX_UNREAD_MESSAGES) {
      endWith(stream.call, status.RESOURCE_EXHAUSTED, "the client does not read its stream");
    } else {
      stream.call.write(stream.activity.encode(active));
    }
  }

  #end(stream: OpenStream): void {
    stream.forget();
    stream.call.end();
  }
}

function endWith(call: Call, code: status, message: string): void {
  call.emit("error", Object.assign(new Error(message), { code, details: message, metadata: new Metadata() }));
}

/** `getPeer` says `address:port`. */
function addressOf(call: Call): string {
  const peer = call.getPeer();
  return senderAddress(peer.slice(0, Math.max(0, peer.lastIndexOf(":"))));
}
