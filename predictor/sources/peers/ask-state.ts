import type { Dispatcher } from "undici";
import { ENVELOPE_HEADER, hashOf, PeerAnswer, seal, unseal } from "./envelope.ts";
import { PEER_PATH } from "./link.ts";

export interface StateQuestion {
  /** Base address of a peer. */
  readonly address: string;
  readonly ownInstance: string;
  /** Tells this question from others of this process. */
  readonly turn: number;
  readonly secret: () => Uint8Array;
  readonly dispatcher: Dispatcher;
  readonly timeoutMs: number;
}

const NOTHING = hashOf(new Uint8Array(0));

/**
 * Asks a peer what its policies remember. Undefined where nobody answers who knows the secret, where this very process does, and
 * where the peer remembers nothing yet or is of a release that is not asked such a thing. Never rejects.
 */
export async function askState(question: StateQuestion): Promise<string | undefined> {
  const { address, dispatcher, ownInstance, secret, timeoutMs, turn } = question;
  const message = {
    kind: "state" as const,
    from: ownInstance,
    epoch: 0,
    turn,
    sequence: 0,
    waitedMs: 0,
    contentType: "",
    bodyHash: NOTHING,
  };
  try {
    const { origin, pathname } = new URL(address);
    const response = await dispatcher.request({
      origin,
      path: `${pathname.replace(/\/$/, "")}${PEER_PATH}`,
      method: "POST",
      headers: { [ENVELOPE_HEADER]: seal(secret(), message) },
      signal: AbortSignal.timeout(timeoutMs),
    });
    const body = await response.body.bytes();
    const answer = unseal(secret(), response.headers[ENVELOPE_HEADER], PeerAnswer);
    if (answer?.to !== ownInstance || answer.epoch !== 0 || answer.turn !== turn) return undefined;
    const isState = answer.from !== ownInstance && body.length > 0 && answer.bodyHash === hashOf(body);
    return isState ? Buffer.from(body).toString("utf8") : undefined;
  } catch {
    return undefined;
  }
}
