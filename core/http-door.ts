import { isIP } from "node:net";
import type { Logger } from "./log.ts";
import { bearerToken, TokenFile } from "./token-file.ts";

/** Who may ask a port that speaks HTTP. */
export interface DoorOptions {
  /** Host names besides {@link ALWAYS_ALLOWED}: `host`, or `*.domain` for all names under a domain. */
  readonly allowedHosts?: readonly string[];
  /** File with tokens, one of which every request must show; it is read again when it changes. */
  readonly tokenFile?: string | undefined;
  readonly monotonicMs: () => number;
  readonly log: Logger;
}

/** The part of a request that is judged. */
export interface Knock {
  readonly host: string | undefined;
  readonly authorization: string | undefined;
}

/** How a request is turned away. */
export interface Refused {
  readonly status: 401 | 421;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Names that only a cluster's own DNS gives; addresses, `localhost` and names without a dot are always allowed, too. */
const ALWAYS_ALLOWED = ["*.svc", "*.svc.cluster.local", "*.localhost"];

/**
 * Judges requests before they are answered. A web page from elsewhere can make a browser ask this port under a name of its
 * own (DNS rebinding); such a request shows in its `Host`. A token, where one is set, comes as `Authorization: Bearer TOKEN`,
 * or as the password of a Basic login, which a browser asks its user for.
 */
export class HttpDoor {
  readonly #allowed: readonly string[];
  readonly #token: TokenFile | undefined;

  /** @throws TradewindError `token-unusable` when the token's file cannot be read or is empty */
  constructor({ allowedHosts = [], log, monotonicMs, tokenFile }: DoorOptions) {
    this.#allowed = [...ALWAYS_ALLOWED, ...allowedHosts].map((each) => each.toLowerCase());
    this.#token = tokenFile === undefined ? undefined : new TokenFile(tokenFile, { monotonicMs, log });
  }

  /** @returns how the request is turned away; undefined when it may be answered */
  refuse({ authorization, host }: Knock): Refused | undefined {
    if (host !== undefined && !this.#isAllowed(host)) {
      const message = `this port is not asked for by the name '${host.slice(0, 100)}'; add it to --allowed-hosts if it is yours`;
      return { status: 421, message, headers: {} };
    }
    if (this.#token === undefined || this.#token.accepts(shownToken(authorization))) return undefined;
    return {
      status: 401,
      message: "this port asks for a token: Authorization: Bearer TOKEN",
      headers: { "www-authenticate": 'Basic realm="tradewind", charset="UTF-8"' },
    };
  }

  #isAllowed(host: string): boolean {
    const name = host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
    if (isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0 || !name.includes(".")) return true;
    return this.#allowed.some((each) =>
      each.startsWith("*.") ? name.endsWith(each.slice(1)) : name === each,
    );
  }
}

function shownToken(authorization: string | undefined): string | undefined {
  const password = /^Basic +(\S+)$/i.exec(authorization ?? "")?.[1];
  if (password === undefined) return bearerToken(authorization);
  return Buffer.from(password, "base64")
    .toString("utf8")
    .replace(/^[^:]*:/, "");
}
