import { WindowSet } from "@tradewind/core/contract/window.ts";
import type { FlowWindow, Window } from "@tradewind/core/contract/window.ts";
import { NO_RESOURCES } from "../../../predictor/window/resources.ts";
import type { ResourceView } from "../../../predictor/window/resources.ts";
import { DERIVED_KIND, SPAN_KIND, SpanBatch } from "../../../predictor/window/span.ts";
import type { SpanRecord, SpanResource } from "../../../predictor/window/span.ts";
import { WindowBuilder } from "../../../predictor/window/window-builder.ts";
import type { WindowBuilderOptions } from "../../../predictor/window/builder-options.ts";

/** Start of the window of all examples: a multiple of 15 s. */
export const T0 = 1_800_000_000_000;
const WINDOW_SECONDS = 15;
export const WINDOW_MS = 1e3 * WINDOW_SECONDS;

type Kind = keyof typeof SPAN_KIND | "receive" | "stream";
const KINDS = { ...SPAN_KIND, receive: DERIVED_KIND.receive, stream: DERIVED_KIND.stream };

/** A span and what it caused; times in ms, from the start of the window. */
export interface Example {
  readonly service: string;
  readonly kind: Kind;
  readonly at: number;
  readonly for: number;
  readonly name?: string;
  readonly error?: boolean;
  readonly adjustedCount?: number;
  readonly userAgent?: string;
  readonly resource?: Partial<SpanResource>;
  readonly children?: readonly Example[];
}

let ids = 0;
const nextId = (digits: number): string => (ids += 1).toString(16).padStart(digits, "0");

/** The spans of one trace, parents first. */
export function traceOf(root: Example, parentId?: string, traceId = nextId(32)): SpanRecord[] {
  const spanId = nextId(16);
  const span: SpanRecord = {
    traceId,
    spanId,
    parentId,
    resource: { service: root.service, ...root.resource },
    name: root.name ?? `${root.service} ${root.kind}`,
    kind: KINDS[root.kind],
    startMs: T0 + root.at,
    durationMs: root.for,
    error: root.error,
    adjustedCount: root.adjustedCount,
    userAgent: root.userAgent,
  };
  return [span, ...(root.children ?? []).flatMap((child) => traceOf(child, spanId, traceId))];
}

export function batchOf(spans: readonly SpanRecord[], epochMs = T0): SpanBatch {
  const batch = new SpanBatch();
  batch.clear(epochMs);
  for (const span of spans) batch.add(span);
  return batch;
}

export function newBuilder(options: Partial<WindowBuilderOptions> = {}): WindowBuilder {
  return new WindowBuilder({ windowSeconds: WINDOW_SECONDS, namespace: "shop", ...options });
}

/** When the spans of the examples arrive, and when their window is built. */
export const ARRIVAL_MS = T0 + WINDOW_MS;
export const BUILD_MS = ARRIVAL_MS + 10_000;

/** Builds the first window; checks it against the contract. */
export function buildFirst(builder: WindowBuilder, resources: ResourceView = NO_RESOURCES): WindowSet {
  return WindowSet.parse(builder.build(T0, T0 + WINDOW_MS, resources, BUILD_MS));
}

/** The first window of spans that all arrive at once. */
export function windowsOf(
  spans: readonly SpanRecord[],
  options: Partial<WindowBuilderOptions> = {},
): WindowSet {
  const builder = newBuilder(options);
  builder.add(batchOf(spans), ARRIVAL_MS);
  return buildFirst(builder);
}

export function serviceIn(set: WindowSet, service: string): Window {
  const window = set.windows.find((each) => each.service === service);
  if (window === undefined) throw new Error(`no window of ${service}`);
  return window;
}

export function flowIn(set: WindowSet, flow: string): FlowWindow {
  const window = set.flows.find((each) => each.flow === flow);
  if (window === undefined)
    throw new Error(`no flow ${flow} among ${set.flows.map((each) => each.flow).join(", ")}`);
  return window;
}

/** Mean own time of a service over the first window, ms, to the nanosecond. */
export function ownMs(root: Example, service: string): number {
  const mean = serviceIn(windowsOf(traceOf(root)), service).ownLatency?.meanSeconds ?? NaN;
  return Math.round(1e9 * mean) / 1e6;
}
