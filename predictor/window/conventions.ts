import { DERIVED_KIND, SPAN_KIND } from "./span.ts";
import type { SpanRecord } from "./span.ts";

/** Of functions: what called one. It is read of every request without a caller. */
export const TRIGGER_KEY = "faas.trigger";

/** Content types of answers that go on. */
const STREAMED_TYPES = [
  "text/event-stream",
  "application/x-ndjson",
  "application/stream+json",
  "multipart/x-mixed-replace",
];
const RECEIVING = [
  { key: "messaging.operation.type", begins: ["receive"] },
  { key: "messaging.operation.name", begins: ["receive", "poll"] },
  { key: "messaging.operation", begins: ["receive"] },
] as const;

/** How Zipkin's libraries call CONSUMER spans that receive, and end before the message is handled. */
export const RECEIVING_NAMES: ReadonlySet<string> = new Set(["poll", "next-message"]);

/**
 * Attributes by which OpenTelemetry's semantic conventions say that a span is no request with a latency. A value counts where it
 * begins with one of those listed.
 */
const CONVENTIONS: readonly Convention[] = [
  ...RECEIVING.map((said) => Object.assign({ kind: SPAN_KIND.consumer, is: DERIVED_KIND.receive }, said)),
  // Of a service that polls, which newer conventions call a client of its broker.
  ...RECEIVING.map((said) => Object.assign({ kind: SPAN_KIND.client, is: DERIVED_KIND.receive }, said)),
  ...(
    [
      ["http.response.header.content-type", STREAMED_TYPES],
      ["http.response.header.content_type", STREAMED_TYPES],
      ["http.request.header.accept", ["text/event-stream"]],
      ["http.request.header.upgrade", ["websocket", "WebSocket"]],
      ["http.response.status_code", ["101"]],
      ["http.status_code", ["101"]],
      ["url.scheme", ["ws"]],
      ["http.scheme", ["ws"]],
      ["http.url", ["ws:", "wss:"]],
      ["url.full", ["ws:", "wss:"]],
      ["http.request.method", ["CONNECT"]],
      ["http.method", ["CONNECT"]],
      ["graphql.operation.type", ["subscription"]],
      ["network.protocol.name", ["websocket", "ws"]],
    ] as const
  ).map(([key, begins]) => ({ kind: SPAN_KIND.server, is: DERIVED_KIND.stream, key, begins })),
  { kind: SPAN_KIND.server, is: SPAN_KIND.internal, key: TRIGGER_KEY, begins: ["timer"] },
  { kind: SPAN_KIND.server, is: SPAN_KIND.consumer, key: TRIGGER_KEY, begins: ["pubsub", "datasource"] },
];

interface Convention {
  readonly kind: number;
  readonly is: SpanRecord["kind"];
  readonly key: string;
  readonly begins: readonly string[];
}

const BY_KEY = Map.groupBy(CONVENTIONS, ({ key }) => key);

/** Longer attribute keys say nothing of the kind. */
export const MAX_CONVENTION_KEY_BYTES = Math.max(...CONVENTIONS.map(({ key }) => key.length));
/** As much of a value as is looked at. */
export const CONVENTION_VALUE_BYTES = 32;
/** A shorter stream is an answer like others. ns */
const LEAST_STREAM_NS = 2.5e8;

/** Parts of paths under which libraries hold connections open. */
const STREAM_PATHS: ReadonlySet<string> = new Set([
  "ws",
  "wss",
  "websocket",
  "sse",
  "socket.io",
  "sockjs",
  "signalr",
  "cable",
]);
const STREAM_METHOD = /^(?:Watch|Stream)(?:[A-Z]|$)/;
const MAX_STREAM_NAME = 200;

/** Whether a SERVER span is called as streams are: `GET /ws`, `shop.Prices/WatchAll`. */
export function isStreamName(name: string, durationNs: number): boolean {
  if (durationNs < LEAST_STREAM_NS || name.length > MAX_STREAM_NAME) return false;
  const parts = name.slice(name.lastIndexOf(" ") + 1).split("/");
  const isMethod = parts.length === 2 && parts[0] !== "" && !name.includes(" ");
  return isMethod ? STREAM_METHOD.test(parts[1] ?? "") : parts.some((part) => STREAM_PATHS.has(part));
}

/** Whether the attributes of a span may say that it is no request with a latency: they are worth a look. */
export function mayBeTold(kind: number, durationNs: number, isRoot: boolean): boolean {
  if (kind === SPAN_KIND.server) return durationNs >= LEAST_STREAM_NS;
  return kind === SPAN_KIND.consumer || (isRoot && kind === SPAN_KIND.client);
}

/** The kind of a span of which {@link mayBeTold} is true, after one more of its attributes. */
export function toldKind<Kind extends number>(
  kind: Kind,
  key: string,
  value: string,
): Kind | SpanRecord["kind"] {
  for (const each of BY_KEY.get(key) ?? [])
    if (each.kind === kind && each.begins.some((text) => value.startsWith(text))) return each.is;
  return kind;
}

/** The same of a span whose attributes are all there. */
export function conventionalKind(
  kind: SpanRecord["kind"],
  { durationMs, parentId }: Pick<SpanRecord, "durationMs" | "parentId">,
  attributes: Iterable<{ readonly key: string; readonly text: string }>,
): SpanRecord["kind"] {
  const isRoot = parentId === undefined;
  const isTold = mayBeTold(kind, 1e6 * durationMs, isRoot);
  if (!isTold && !(isRoot && kind === SPAN_KIND.server)) return kind;
  for (const { key, text } of attributes) {
    if (!isTold && key !== TRIGGER_KEY) continue;
    const told = toldKind(kind, key, text);
    if (told !== kind) return told;
  }
  return kind;
}

/** What a sender would say of a kind, for those who are handed the spans on. */
export function saidOf(kind: number): {
  readonly kind: number;
  readonly attribute?: { readonly key: string; readonly value: string };
} {
  if (kind <= SPAN_KIND.consumer) return { kind };
  const convention = CONVENTIONS.find(({ is }) => is === kind);
  if (convention === undefined) return { kind: SPAN_KIND.client };
  return { kind: convention.kind, attribute: { key: convention.key, value: convention.begins[0] ?? "" } };
}
