import { ANYBODY } from "@tradewind/core/net/access-tokens.ts";
import type { AccessTokens, Caller } from "@tradewind/core/net/access-tokens.ts";
import { bearerToken } from "@tradewind/core/net/token-file.ts";
import { RPC_CODE } from "./responses.ts";

/** Why a request was refused, for metrics. */
export type RefusalReason =
  | "calls"
  | "failed"
  | "invalid"
  | "malformed"
  | "memory"
  | "rate"
  | "size"
  | "slow"
  | "token"
  | "unsupported";

/** How a request is refused: what its sender gets to know. */
interface RefusalKind {
  readonly statusCode: number;
  readonly rpcCode: number;
  readonly reason: RefusalReason;
  /** Absent when the same request would be refused again. */
  readonly retryAfterSeconds?: number | undefined;
}

/** A request that is answered with an error. */
export class Refusal extends Error implements RefusalKind {
  readonly statusCode: number;
  readonly rpcCode: number;
  readonly reason: RefusalReason;
  readonly retryAfterSeconds: number | undefined;

  constructor(kind: RefusalKind, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "Refusal";
    this.statusCode = kind.statusCode;
    this.rpcCode = kind.rpcCode;
    this.reason = kind.reason;
    this.retryAfterSeconds = kind.retryAfterSeconds;
  }
}

/**
 * Looks at the header `authorization` of a request where senders need a token.
 * @returns who sends
 * @throws Refusal 401, UNAUTHENTICATED, or 403, PERMISSION_DENIED
 */
export function requireToken(tokens: AccessTokens | undefined, authorization: string | undefined): Caller {
  if (tokens === undefined) return ANYBODY;
  const caller = tokens.callerOf(bearerToken(authorization) ?? "");
  if (caller === undefined) {
    throw new Refusal(
      { statusCode: 401, rpcCode: RPC_CODE.unauthenticated, reason: "token" },
      "this receiver takes spans with a token only: authorization: Bearer TOKEN",
    );
  }
  if (caller.scopes.includes("send")) return caller;
  throw forbidden(`the token '${caller.name}' lacks the scope 'send'`);
}

export const forbidden = (message: string): Refusal =>
  new Refusal({ statusCode: 403, rpcCode: RPC_CODE.permissionDenied, reason: "token" }, message);

export const tooLarge = (message: string): Refusal =>
  new Refusal({ statusCode: 413, rpcCode: RPC_CODE.resourceExhausted, reason: "size" }, message);

export const bodyTooLarge = (what: string, limitBytes: number): Refusal =>
  tooLarge(`${what} is larger than ${limitBytes} bytes; send smaller batches`);

export const malformed = (message: string, cause?: unknown): Refusal =>
  new Refusal({ statusCode: 400, rpcCode: RPC_CODE.invalidArgument, reason: "malformed" }, message, {
    cause,
  });

export const invalid = (message: string): Refusal =>
  new Refusal({ statusCode: 400, rpcCode: RPC_CODE.invalidArgument, reason: "invalid" }, message);

export const unsupported = (message: string): Refusal =>
  new Refusal({ statusCode: 415, rpcCode: RPC_CODE.invalidArgument, reason: "unsupported" }, message);

/** @param reason `calls`: too many at once; `memory`: their bodies are too large together */
export const overloaded = (reason: "calls" | "memory", message: string, retryAfterSeconds: number): Refusal =>
  new Refusal({ statusCode: 503, rpcCode: RPC_CODE.unavailable, reason, retryAfterSeconds }, message);

export const tooFast = (message: string, retryAfterSeconds: number): Refusal =>
  new Refusal(
    { statusCode: 429, rpcCode: RPC_CODE.resourceExhausted, reason: "rate", retryAfterSeconds },
    message,
  );

export const tooSlow = (message: string): Refusal =>
  new Refusal({ statusCode: 408, rpcCode: RPC_CODE.deadlineExceeded, reason: "slow" }, message);

/** The sender is not told more: the cause is for our log. */
export const failed = (cause: unknown): Refusal =>
  new Refusal(
    { statusCode: 500, rpcCode: RPC_CODE.internal, reason: "failed" },
    "the receiver failed; see its log",
    { cause },
  );
