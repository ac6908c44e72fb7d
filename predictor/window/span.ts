import { userAgentOf } from "./user-agent.ts";

/** `SpanKind` of OTLP (trace.proto). */
export const SPAN_KIND = {
  unspecified: 0,
  internal: 1,
  server: 2,
  client: 3,
  producer: 4,
  consumer: 5,
} as const;
export type SpanKind = (typeof SPAN_KIND)[keyof typeof SPAN_KIND];

/** A kind as a sender says it; what is none counts as unspecified. */
export const sentKind = (kind: number): SpanKind =>
  kind >= SPAN_KIND.unspecified && kind <= SPAN_KIND.consumer ? (kind as SpanKind) : SPAN_KIND.unspecified;

/** Kinds that no sender names: the span's kind together with what its attributes or its place say. See request-model.ts. */
export const DERIVED_KIND = {
  /** CONSUMER that waits for messages: a poll. */
  receive: 6,
  /** SERVER that answers with a stream: server-sent events, WebSocket. */
  stream: 7,
  /** CLIENT of another name in the process of a known workload: a call only where somebody answers it. */
  library: 8,
  /** CLIENT spans of one parent, beyond what a trace may hold, as one: its weight is their number. */
  folded: 9,
} as const;

/** The process that sent a span; shared by all spans of one resource. */
export interface SpanResource {
  /** `service.name`, else what Kubernetes calls it; empty when the sender said neither. */
  service: string;
  /** Service that its spans count for, where that is another one: known once a builder took them. */
  owner?: string | undefined;
  /** `k8s.pod.name`, else `k8s.pod.uid`, else `service.instance.id`. */
  instance?: string | undefined;
  /** `host.name`: in a pod it is the pod's name. */
  host?: string | undefined;
  /** The instance is a pod's name or uid: another one is another pod. */
  isPod?: boolean | undefined;
  /** `k8s.namespace.name`; absent when the sender did not say. */
  namespace?: string | undefined;
  /** `k8s.cluster.name`; absent when the sender did not say. */
  cluster?: string | undefined;
  /** `cloud.region`; absent when the sender did not say. */
  region?: string | undefined;
  /** `service.namespace`, which many write the namespace of Kubernetes into; absent when the sender did not say. */
  group?: string | undefined;
  /** `deployment.environment.name`, before it `deployment.environment`; absent when the sender did not say. */
  environment?: string | undefined;
}

/** The service that spans of a resource count for. */
export const ownerOf = ({ owner, service }: SpanResource): string => owner ?? service;

/** One span for those who do not count nanoseconds: tests and pulled sources. */
export interface SpanRecord {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** 16 hex digits; absent for a root span. */
  readonly parentId?: string | undefined;
  readonly resource: SpanResource;
  /** Needed on spans that may begin a flow or a request. */
  readonly name?: string | undefined;
  readonly kind: SpanKind | (typeof DERIVED_KIND)["receive" | "stream"];
  /** Milliseconds since the Unix epoch, fractions allowed. */
  readonly startMs: number;
  readonly durationMs: number;
  readonly error?: boolean | undefined;
  /** Requests this span stands for: 1 / sampling probability. Absent when the sender did not say. */
  readonly adjustedCount?: number | undefined;
  /** `user_agent.original`, else `http.user_agent`; needed on SERVER spans without a parent. */
  readonly userAgent?: string | undefined;
}

const INITIAL_CAPACITY = 256;
const NS_PER_MS = 1e6;

/**
 * Spans on their way from a source to the window builder: columns of numbers, so that a batch of thousands costs the
 * garbage collector nothing. A source owns one batch, fills and clears it again and again; who is handed one must take
 * what it needs before it returns.
 */
export class SpanBatch {
  length = 0;
  /** Zero of `startNs`, ms since the Unix epoch; a whole number, near the spans so that nanoseconds stay exact. */
  epochMs = 0;
  /** Four words per span. */
  traceId = new Uint32Array(4 * INITIAL_CAPACITY);
  /** Two words per span, as `parentId`. */
  spanId = new Uint32Array(2 * INITIAL_CAPACITY);
  /** Two words per span; both 0 when the span has no parent. */
  parentId = new Uint32Array(2 * INITIAL_CAPACITY);
  startNs = new Float64Array(INITIAL_CAPACITY);
  /** Negative when the sender's end lies before its start. */
  durationNs = new Float64Array(INITIAL_CAPACITY);
  kind = new Uint8Array(INITIAL_CAPACITY);
  error = new Uint8Array(INITIAL_CAPACITY);
  /** Requests the span stands for; 0 when the sender did not say. */
  adjustedCount = new Float64Array(INITIAL_CAPACITY);
  /** One of `USER_AGENT`; read of SERVER spans without a parent. */
  userAgent = new Uint8Array(INITIAL_CAPACITY);
  /** Index into `resources`. */
  resource = new Uint32Array(INITIAL_CAPACITY);
  /** Span names, kept for spans that may begin a flow: roots and SERVER or CONSUMER spans. */
  readonly names: (string | undefined)[] = [];
  readonly resources: SpanResource[] = [];
  /** Spans the source refused before they got here: ids of zero or of the wrong length. */
  invalidIds = 0;

  /** Empties the batch; keeps its memory. */
  clear(epochMs: number): void {
    this.length = 0;
    this.epochMs = Math.floor(epochMs);
    this.names.length = 0;
    this.resources.length = 0;
    this.invalidIds = 0;
  }

  /** Makes room for one more span and returns its index; the caller fills every column. */
  reserve(): number {
    const index = this.length;
    if (index === this.kind.length) this.grow();
    this.length = index + 1;
    return index;
  }

  /** Adds a span given as a record. @throws RangeError when an id is not hexadecimal of the right length */
  add(record: SpanRecord): void {
    const trace = hexWords(record.traceId, 4);
    const span = hexWords(record.spanId, 2);
    const parent = record.parentId === undefined ? [0, 0] : hexWords(record.parentId, 2);
    const index = this.reserve();
    this.traceId.set(trace, 4 * index);
    this.spanId.set(span, 2 * index);
    this.parentId.set(parent, 2 * index);
    this.startNs[index] = Math.round((record.startMs - this.epochMs) * NS_PER_MS);
    this.durationNs[index] = Math.round(record.durationMs * NS_PER_MS);
    this.kind[index] = record.kind;
    this.error[index] = record.error === true ? 1 : 0;
    this.adjustedCount[index] = record.adjustedCount ?? 0;
    this.userAgent[index] = userAgentOf(record.userAgent ?? "");
    this.resource[index] = this.resourceIndex(record.resource);
    this.names[index] = record.name;
  }

  /**
   * Takes the spans [from, to) of another batch in place of its own. Their resources must be in the order of the spans, as
   * decoders leave them.
   */
  takeRange(batch: SpanBatch, from: number, to: number): void {
    this.clear(batch.epochMs);
    const count = to - from;
    while (this.kind.length < count) this.grow();
    this.length = count;
    this.traceId.set(batch.traceId.subarray(4 * from, 4 * to));
    this.spanId.set(batch.spanId.subarray(2 * from, 2 * to));
    this.parentId.set(batch.parentId.subarray(2 * from, 2 * to));
    this.startNs.set(batch.startNs.subarray(from, to));
    this.durationNs.set(batch.durationNs.subarray(from, to));
    this.kind.set(batch.kind.subarray(from, to));
    this.error.set(batch.error.subarray(from, to));
    this.adjustedCount.set(batch.adjustedCount.subarray(from, to));
    this.userAgent.set(batch.userAgent.subarray(from, to));
    const first = batch.resource[from] ?? 0;
    for (let index = 0; index < count; index += 1) {
      this.resource[index] = (batch.resource[from + index] ?? 0) - first;
      this.names[index] = batch.names[from + index];
    }
    const last = batch.resource[to - 1] ?? 0;
    for (let index = first; index <= last; index += 1) {
      const resource = batch.resources[index];
      if (resource !== undefined) this.resources.push(resource);
    }
  }

  private resourceIndex(resource: SpanResource): number {
    const last = this.resources.length - 1;
    if (last >= 0 && this.resources[last] === resource) return last;
    return this.resources.push(resource) - 1;
  }

  private grow(): void {
    const capacity = 2 * this.kind.length;
    this.traceId = enlarged(this.traceId, new Uint32Array(4 * capacity));
    this.spanId = enlarged(this.spanId, new Uint32Array(2 * capacity));
    this.parentId = enlarged(this.parentId, new Uint32Array(2 * capacity));
    this.startNs = enlarged(this.startNs, new Float64Array(capacity));
    this.durationNs = enlarged(this.durationNs, new Float64Array(capacity));
    this.kind = enlarged(this.kind, new Uint8Array(capacity));
    this.error = enlarged(this.error, new Uint8Array(capacity));
    this.adjustedCount = enlarged(this.adjustedCount, new Float64Array(capacity));
    this.userAgent = enlarged(this.userAgent, new Uint8Array(capacity));
    this.resource = enlarged(this.resource, new Uint32Array(capacity));
  }
}

/** A copy of `column` at the start of the larger `into`. */
export function enlarged<Column extends Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array>(
  column: Column,
  into: Column,
): Column {
  into.set(column);
  return into;
}

/** Whether `count` words from `at` on, an id, are all 0. */
export function isZero(words: Uint32Array, at: number, count: number): boolean {
  for (let word = at; word < at + count; word += 1) if (words[word] !== 0) return false;
  return true;
}

/** Big-endian 32-bit words of a hexadecimal id. @throws RangeError when `hex` is not 8 digits per word */
export function hexWords(hex: string, words: number): number[] {
  if (hex.length !== 8 * words || !/^[0-9a-fA-F]+$/.test(hex)) {
    throw new RangeError(`'${hex.slice(0, 64)}' is not an id of ${8 * words} hexadecimal digits`);
  }
  const found: number[] = [];
  for (let at = 0; at < hex.length; at += 8) found.push(Number.parseInt(hex.slice(at, at + 8), 16));
  return found;
}
