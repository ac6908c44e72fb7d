import { experimental } from "@grpc/grpc-js";

type Endpoints = readonly string[] | (() => readonly string[]);

/** Keys under which a channel carries the addresses behind its name, and the least time between two looks at them. */
const ADDRESSES = "test.headless-service";
const EVERY_MS = "test.resolution-interval";
const SCHEME = "headless";

/**
 * What a channel to a headless Service takes: round robin, and the addresses as they are when it asks for them.
 * @param resolveEveryMs least time between two resolutions; grpc-go, which KEDA is made with, keeps 30 s
 */
export function headlessChannel(
  endpoints: Endpoints,
  resolveEveryMs = 0,
): { target: string; options: Record<string, unknown> } {
  experimental.registerResolver(SCHEME, HeadlessResolver);
  return {
    target: `${SCHEME}:tradewind-scaler`,
    options: {
      [ADDRESSES]: typeof endpoints === "function" ? endpoints : () => endpoints,
      [EVERY_MS]: resolveEveryMs,
      "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
      "grpc.use_local_subchannel_pool": 1,
      // gRPC begins with one second; a test need not wait for it.
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 200,
    },
  };
}

/**
 * Stands in the place of DNS: nobody is told of a change, it is seen when the client looks again. As grpc-go's resolver it
 * keeps a request that comes too early until it may look.
 */
class HeadlessResolver implements experimental.Resolver {
  readonly #listener: experimental.ResolverListener;
  readonly #addresses: () => readonly string[];
  readonly #everyMs: number;
  #mayLookMs = 0;
  #waiting: NodeJS.Timeout | undefined;

  constructor(
    _target: experimental.GrpcUri,
    listener: experimental.ResolverListener,
    options: Readonly<Record<string, unknown>>,
  ) {
    this.#listener = listener;
    this.#addresses = options[ADDRESSES] as () => readonly string[];
    this.#everyMs = options[EVERY_MS] as number;
  }

  updateResolution(): void {
    this.#waiting ??= setTimeout(() => this.#look(), Math.max(0, this.#mayLookMs - performance.now()));
  }

  #look(): void {
    this.#waiting = undefined;
    this.#mayLookMs = performance.now() + this.#everyMs;
    const endpoints = this.#addresses().map((address) => {
      const { host, port } = experimental.splitHostPort(address)!;
      return { addresses: [{ host, port: port! }] };
    });
    this.#listener({ ok: true, value: endpoints }, {}, null, "");
  }

  destroy(): void {
    clearTimeout(this.#waiting);
    this.#waiting = undefined;
  }

  static getDefaultAuthority(): string {
    return "localhost";
  }
}
