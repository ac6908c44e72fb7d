import { z } from "zod";
import { conventionalKind } from "../../window/conventions.ts";
import { SPAN_KIND } from "../../window/span.ts";
import type { SpanRecord, SpanResource } from "../../window/span.ts";
import { ASKING_KEYS, tellingAgent } from "../../window/user-agent.ts";
import { NAMESPACE_KEY, POD_KEY, RESOURCE_KEYS, ResourceReader, SERVICE_KEY } from "./resource-attributes.ts";
import { hexId } from "./ids.ts";
import { spanKind } from "./span-kind.ts";

const Endpoint = z.object({
  serviceName: z.string().nullish(),
  ipv4: z.string().nullish(),
  ipv6: z.string().nullish(),
});
const microseconds = z.number().nonnegative().nullish();

/**
 * A span of Zipkin's model, version 2. The two sides of a call may have one id; the server's says `shared` then, which their kinds
 * say as well. Times are in microseconds, and absent in what was sent before the span was over.
 */
const Span = z.object({
  traceId: z.string(),
  id: z.string(),
  parentId: z.string().nullish(),
  name: z.string().nullish(),
  kind: z.string().nullish(),
  timestamp: microseconds,
  duration: microseconds,
  localEndpoint: Endpoint.nullish(),
  /** Read one by one, since a span may have many. */
  tags: z.unknown().optional(),
});

/** One that is not over has no end: it is refused as those are whose end lies before their start. */
const UNFINISHED_MS = -1;

/** A span as Zipkin writes it in JSON; undefined where it cannot be understood. */
export function readZipkinSpan(value: unknown): SpanRecord | undefined {
  const { data } = Span.safeParse(value);
  const traceId = hexId(data?.traceId, 16);
  const spanId = hexId(data?.id, 8);
  if (data === undefined || traceId === undefined || spanId === undefined) return undefined;
  const parentId = hexId(data.parentId, 8);
  if (parentId === undefined && /[^0]/.test(data.parentId ?? "")) return undefined;
  const { duration, kind, localEndpoint, name, timestamp } = data;
  const tags = isRecord(data.tags) ? data.tags : {};
  const text = (key: string): string | undefined => (typeof tags[key] === "string" ? tags[key] : undefined);
  const isOver = typeof timestamp === "number" && typeof duration === "number";
  const durationMs = isOver ? duration / 1e3 : UNFINISHED_MS;
  return {
    traceId,
    spanId,
    parentId,
    resource: resourceOf(localEndpoint ?? {}, text),
    name: name ?? "",
    kind: conventionalKind(zipkinKind(kind), { durationMs, parentId }, textTags(tags)),
    startMs: (timestamp ?? 0) / 1e3,
    durationMs,
    // Zipkin's clients write the tag on failure only, whatever it holds.
    error: tags["error"] !== undefined && text("error") !== "false",
    userAgent: tellingAgent(ASKING_KEYS.map(text)),
  };
}

function* textTags(tags: Readonly<Record<string, unknown>>): Generator<{ key: string; text: string }> {
  for (const [key, text] of Object.entries(tags)) if (typeof text === "string") yield { key, text };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** Spans without a kind are of work within a process. */
const zipkinKind = (kind: string | null | undefined): SpanRecord["kind"] =>
  kind === undefined || kind === null || kind === "" ? SPAN_KIND.internal : spanKind(kind);

/** Collectors write a resource into the tags of its spans. Without a pod there it is the address, which is all that Zipkin's own clients send. */
function resourceOf(
  { ipv4, ipv6, serviceName }: z.infer<typeof Endpoint>,
  text: (key: string) => string | undefined,
): SpanResource {
  const reader = new ResourceReader();
  reader.take(SERVICE_KEY, serviceName ?? "");
  for (const key of RESOURCE_KEYS) if (key !== SERVICE_KEY) reader.take(key, text(key) ?? "");
  reader.take(POD_KEY, podOfProxy(text("node_id") ?? ""));
  reader.take(NAMESPACE_KEY, text("istio.namespace") ?? "");
  const address = ipv4 ?? ipv6;
  return {
    ...(address !== undefined && address !== null && { instance: address }),
    ...reader.resource(),
  };
}

const MAX_NODE_ID = 512;

/** Istio's proxies call themselves KIND~IP~POD.NAMESPACE~DOMAIN. Empty for any other text. */
function podOfProxy(nodeId: string): string {
  const [, , pod = ""] = nodeId.slice(0, MAX_NODE_ID).split("~");
  return pod.slice(0, Math.max(0, pod.lastIndexOf(".")));
}
