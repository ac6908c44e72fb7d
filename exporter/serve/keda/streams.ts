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
  readonly lifetime: NodeJS.Timeout;
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
  readonly #places: FairPlaces;

  constructor(limits: { maxStreams: number; maxPerAddress: number; lifetimeMs: number }) {
    this.#maxStreams = limits.maxStreams;
    this.#lifetimeMs = limits.lifetimeMs;
    const maxPerSender = Math.min(limits.maxPerAddress, limits.maxStreams);
    this.#places = new FairPlaces({ maxPlaces: limits.maxStreams, maxPerSender });
  }

  get size(): number {
    return this.#open.size;
  }

  /** Takes a call in. @returns false when there are too many; the call is then ended with RESOURCE_EXHAUSTED */
  open(call: Call, activity?: Activity): boolean {
    const place = this.#places.take(addressOf(call), () => this.#end(stream));
    if (place === undefined) {
      endWith(
        call,
        status.RESOURCE_EXHAUSTED,
        `more than ${this.#maxStreams} streams are open on this scaler`,
      );
      return false;
    }
    // A sender with all its places does not get another one by losing the oldest.
    place.busy();
    const lifetime = setTimeout(() => this.#end(stream), this.#lifetimeMs).unref();
    const stream: OpenStream = { call, activity, lifetime, last: false };
    this.#open.add(stream);
    const forget = (): void => {
      clearTimeout(lifetime);
      place.free();
      this.#open.delete(stream);
    };
    call.once("close", forget).once("cancelled", forget).once("error", forget);
    this.#tell(stream);
    return true;
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
    clearTimeout(stream.lifetime);
    this.#open.delete(stream);
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
