import { isIP } from "node:net";
import { AccessTokens, ANYBODY } from "./access-tokens.ts";
import type { Caller, Scope } from "./access-tokens.ts";
import type { Logger } from "../process/log.ts";
import { bearerToken } from "./token-file.ts";
import { TokenTries } from "./token-tries.ts";

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
  /** Who asks, by IP address. */
  readonly address: string | undefined;
}

/** How a request is turned away. */
export interface Refused {
  readonly status: 401 | 403 | 421 | 429;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What a caller needs for one of the things that a port answers. */
export interface Need {
  /** Default: `read`. */
  readonly scope?: Scope;
  /** The answer keeps to the namespaces that the token is for; default: it is about all of them. */
  readonly byNamespace?: boolean;
}

/** Who may ask, or how they are turned away. */
export type Admission = { readonly caller: Caller } | { readonly refused: Refused };

/** Names that only a cluster's own DNS gives; addresses, `localhost` and names without a dot are always allowed, too. */
const ALWAYS_ALLOWED = ["*.svc", "*.svc.cluster.local", "*.localhost"];

/**
 * Judges requests before they are answered. A web page from elsewhere can make a browser ask this port under a name of its
 * own (DNS rebinding); such a request shows in its `Host`. A token, where one is set, comes as `Authorization: Bearer TOKEN`,
 * or as the password of a Basic login, which a browser asks its user for.
 */
export class HttpDoor {
  readonly #allowed: readonly string[];
  readonly #tokens: AccessTokens | undefined;
  readonly #tries: TokenTries;

  /** @throws TradewindError `token-unusable` when the tokens' file cannot be read or used */
  constructor({ allowedHosts = [], log, monotonicMs, tokenFile }: DoorOptions) {
    this.#allowed = [...ALWAYS_ALLOWED, ...allowedHosts].map((each) => each.toLowerCase());
    this.#tokens = tokenFile === undefined ? undefined : new AccessTokens(tokenFile, { monotonicMs, log });
    this.#tries = new TokenTries(monotonicMs);
  }

  /** Whether a token that stands alone on its line, without name and scopes, is taken. */
  hasDefaultToken(): boolean {
    return this.#tokens?.hasDefault() === true;
  }

  admit(
    { address = "", authorization, host }: Knock,
    { byNamespace = false, scope = "read" }: Need = {},
  ): Admission {
    if (host !== undefined && !this.#isAllowed(host)) {
      const message = `this port is not asked for by the name '${host.slice(0, 100)}'; add it to --allowed-hosts if it is yours`;
      return refused(421, message);
    }
    if (this.#tokens === undefined)
      return scope === "profile"
        ? refused(403, "profiles are for tokens of the scope 'profile', and this port asks for no token")
        : { caller: ANYBODY };
    const shown = shownToken(authorization);
    const waitSeconds = shown === undefined ? 0 : this.#tries.waitSeconds(address);
    if (waitSeconds > 0) {
      const message = `too many wrong tokens came from ${address}; it may show one again in ${waitSeconds} s`;
      return refused(429, message, { "retry-after": String(waitSeconds) });
    }
    const caller = shown === undefined ? undefined : this.#tokens.callerOf(shown);
    if (caller === undefined) {
      if (shown !== undefined) this.#tries.failed(address);
      const login = { "www-authenticate": 'Basic realm="tradewind", charset="UTF-8"' };
      return refused(401, "this port asks for a token: Authorization: Bearer TOKEN", login);
    }
    if (!caller.scopes.includes(scope))
      return refused(403, `the token '${caller.name}' lacks the scope '${scope}'`);
    if (caller.namespaces !== undefined && !byNamespace)
      return refused(403, `the token '${caller.name}' is for some namespaces only, this answer is about all`);
    return { caller };
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

const refused = (
  status: Refused["status"],
  message: string,
  headers: Refused["headers"] = {},
): Admission => ({
  refused: { status, message, headers },
});
