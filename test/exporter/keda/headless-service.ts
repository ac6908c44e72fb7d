import { experimental } from "@grpc/grpc-js";

type Endpoints = readonly string[] | (() => readonly string[]);

/** Key under which a channel carries the addresses behind its name. */
const ADDRESSES = "test.headless-service";
const SCHEME = "headless";

/** What a channel to a headless Service takes: round robin, and the addresses as they are when it asks for them. */
export function headlessChannel(endpoints: Endpoints): { target: string; options: Record<string, unknown> } {
  experimental.registerResolver(SCHEME, HeadlessResolver);
  return {
    target: `${SCHEME}:tradewind-scaler`,
    options: {
      [ADDRESSES]: typeof endpoints === "function" ? endpoints : () => endpoints,
      "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
      "grpc.use_local_subchannel_pool": 1,
      // gRPC begins with one second; a test need not wait for it.
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 200,
    },
  };
}

/** Stands in the place of DNS: nobody is told of a change, it is seen when the client looks again. */
class HeadlessResolver implements experimental.Resolver {
  readonly #listener: experimental.ResolverListener;
  readonly #addresses: () => readonly string[];
  #isOpen = true;

  constructor(
    _target: experimental.GrpcUri,
    listener: experimental.ResolverListener,
    options: Readonly<Record<string, unknown>>,
  ) {
    this.#listener = listener;
    this.#addresses = options[ADDRESSES] as () => readonly string[];
  }

  updateResolution(): void {
    this.#isOpen = true;
    setImmediate(() => {
      if (!this.#isOpen) return;
      const endpoints = this.#addresses().map((address) => {
        const { host, port } = experimental.splitHostPort(address)!;
        return { addresses: [{ host, port: port! }] };
      });
      this.#listener({ ok: true, value: endpoints }, {}, null, "");
    });
  }

  destroy(): void {
    this.#isOpen = false;
  }

  static getDefaultAuthority(): string {
    return "localhost";
  }
}
