import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { FullHash, patternedText } from "@tradewind/core/contract/quantity.ts";

/** Header of every message and of every answer between predictors. */
export const ENVELOPE_HEADER = "tradewind-envelope";

const Instance = patternedText(36, /^[0-9a-f-]{36}$/);
const Whole = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/**
 * What a predictor says to a peer beside the spans: `hello` asks who answers at an address, `batch` brings spans, `alive`
 * says that there are none to bring, `bye` that the sender receives no more spans and ends, `state` asks what the policies of the
 * one that answers remember.
 */
export const PeerMessage = z.object({
  kind: z.enum(["hello", "batch", "alive", "bye", "state"]),
  /** Names the sending process; another one after each start. */
  from: Instance,
  /** The process meant; absent in a hello and where a state is asked for. A message for another one is not taken, so none can be used again after a restart. */
  to: Instance.optional(),
  /** Names the link among all that the sender has opened; rises. */
  epoch: Whole,
  /** Number of the message on its link, from 1: each is taken once. */
  turn: Whole,
  /** Number of the batch among all that clients gave to the sender, or how many those are. The same on every link. */
  sequence: Whole,
  /** How long the batch has waited to be sent, ms: all that the sender received before that has been sent. */
  waitedMs: z.number().min(0),
  contentType: z.string().max(100),
  /** SHA-256 of the body, hexadecimal. */
  bodyHash: FullHash,
});
export type PeerMessage = z.infer<typeof PeerMessage>;

/** `taken` also of a batch that had come before; `other`: the message is for another process; `busy`: try again. */
export const PeerAnswer = z.object({
  kind: z.literal("answer"),
  /** The process that answers. */
  from: Instance,
  /** The message that is answered. */
  to: Instance,
  epoch: Whole,
  turn: Whole,
  result: z.enum(["taken", "unreadable", "other", "busy"]),
  /** SHA-256 of the body, hexadecimal; absent of an answer without one. */
  bodyHash: FullHash.optional(),
});
export type PeerAnswer = z.infer<typeof PeerAnswer>;

const MAX_ENVELOPE_CHARS = 4_096;

/** Words and a proof that whoever wrote them knows the secret: `BASE64URL(JSON).BASE64URL(HMAC-SHA256)`. */
export function seal(secret: Uint8Array, content: PeerMessage | PeerAnswer): string {
  const text = Buffer.from(JSON.stringify(content)).toString("base64url");
  return `${text}.${proofOf(secret, text).toString("base64url")}`;
}

/** Undefined for everything that was not sealed with the same secret, and for what is no `schema`. */
export function unseal<Schema extends z.ZodType>(
  secret: Uint8Array,
  envelope: unknown,
  schema: Schema,
): z.output<Schema> | undefined {
  if (typeof envelope !== "string" || envelope.length > MAX_ENVELOPE_CHARS) return undefined;
  const [text = "", proof = ""] = envelope.split(".");
  const given = Buffer.from(proof, "base64url");
  const expected = proofOf(secret, text);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  try {
    return schema.safeParse(JSON.parse(Buffer.from(text, "base64url").toString())).data;
  } catch {
    return undefined;
  }
}

export function hashOf(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}

/** What the proof is of begins with this, so that no proof made for another purpose counts here. */
const PURPOSE = "tradewind-peer/1\n";

function proofOf(secret: Uint8Array, text: string): Buffer {
  return createHmac("sha256", secret).update(PURPOSE).update(text).digest();
}
