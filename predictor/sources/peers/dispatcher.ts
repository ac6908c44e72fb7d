import type { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import { Agent, buildConnector } from "undici";

export interface PeerDispatcherOptions {
  readonly timeoutMs: number;
  readonly tls: ReloadingTls | undefined;
  /** The name that an address was found by, which the certificate there has. */
  readonly nameOf: (address: string) => string | undefined;
}

/** Connections to peers, to which with TLS this predictor shows the newest certificate that it has, and whose own it checks. */
export function peerDispatcher({ nameOf, timeoutMs, tls }: PeerDispatcherOptions): Agent {
  const common = { allowH2: false, timeout: timeoutMs };
  if (tls === undefined) return new Agent({ ...common, connections: 2, connect: common });
  return new Agent({
    allowH2: false,
    connections: 2,
    connect: (target, callback) => {
      const servername = nameOf(`${target.protocol}//${target.host ?? target.hostname}`);
      const named = servername === undefined ? {} : { servername };
      buildConnector({ ...common, ...tls.context, ...named })(target, callback);
    },
  });
}
