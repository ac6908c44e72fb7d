import { isIPv6 } from "node:net";
import { TradewindError } from "@tradewind/core/values/errors.ts";

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * `127.0.0.1:4318`, `[::1]:4318` or `localhost:0`.
 * @throws TradewindError `invalid-address` naming the text
 */
export function parseListen(text: string): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/.exec(text);
  const [, bracketed, plain, digits] = match ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port > 65_535 || (bracketed !== undefined && !isIPv6(bracketed))) {
    throw new TradewindError("invalid-address", `'${text}' is not host:port, for example 127.0.0.1:4318`);
  }
  return { host, port };
}

/** The text form of an address, the inverse of {@link parseListen}. */
export function formatListen({ host, port }: ListenAddress): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}
