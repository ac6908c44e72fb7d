import { RPC_CODE } from "./responses.ts";

/** A request that is answered with an error: what the sender gets to know. */
export class Refusal extends Error {
  readonly statusCode: number;
  readonly rpcCode: number;

  constructor(statusCode: number, rpcCode: number, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "Refusal";
    this.statusCode = statusCode;
    this.rpcCode = rpcCode;
  }
}

export const tooLarge = (what: string, limitBytes: number): Refusal =>
  new Refusal(
    413,
    RPC_CODE.resourceExhausted,
    `${what} is larger than ${limitBytes} bytes; send smaller batches`,
  );

export const malformed = (message: string, cause?: unknown): Refusal =>
  new Refusal(400, RPC_CODE.invalidArgument, message, { cause });

export const overloaded = (): Refusal =>
  new Refusal(503, RPC_CODE.unavailable, "too many requests at once; come back after the time told");
