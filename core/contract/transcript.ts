import { z } from "zod";
import { LABEL_SOURCES } from "./accuracy.ts";
import { ContentHash, Count, EpochMs, ObjectName, orAbsent } from "./quantity.ts";

export const TRANSCRIPT_SCHEMA = "tradewind.dev/transcript/v1";

const Root = z.strictObject({ id: Count, type: z.string().min(1).max(16) });

/** One message of a chat. */
export const Message = z.strictObject({
  role: z.enum(["system", "user", "assistant"]),
  content: z.string().max(1_048_576),
});
export type Message = z.infer<typeof Message>;

/** One answer of a reasoner with what it was asked about: a line of a data set for training. */
export const TranscriptLine = z.strictObject({
  schema: z.literal(TRANSCRIPT_SCHEMA),
  application: ObjectName,
  atMs: EpochMs,
  /** Who answered: `built-in`, or the name of a model. */
  model: z.string().min(1).max(200),
  sketchHash: ContentHash,
  /** The state of the application: services with their signals against their own past. */
  sketch: z.looseObject({
    services: z.array(z.looseObject({ id: Count, name: z.string().max(200) })).max(10_000),
  }),
  /** What a model was asked with, word for word; absent of the built-in reasoner, and in what earlier releases wrote. */
  messages: orAbsent(z.array(Message).max(8)),
  /** The four tagged stages. */
  answer: z.string().max(262_144),
  /** What the causes were, and who says so. */
  labels: z.strictObject({ root: z.array(Root).max(16), source: z.enum(LABEL_SOURCES) }).optional(),
  /** ORACL's reward (Eq. 8, 9, 11 and 13) against the labels. */
  reward: z
    .strictObject({ result: z.number(), format: z.number(), length: z.number(), total: z.number() })
    .optional(),
});
export type TranscriptLine = z.infer<typeof TranscriptLine>;

/** Kept transcripts, oldest first: `GET /v1/transcripts` of the predictor. */
export const Transcripts = z.strictObject({ transcripts: z.array(TranscriptLine).max(1_000) });
