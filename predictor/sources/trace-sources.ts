import { z } from "zod";
import type { ClientSettings } from "@tradewind/core/net/endpoint/client.ts";
import type { EndpointOptions } from "@tradewind/core/net/endpoint/options.ts";
import { JaegerSource } from "./jaeger/jaeger-source.ts";
import { JaegerOptions } from "./jaeger/options.ts";
import type { SpanSource } from "./source.ts";
import { TempoOptions } from "./tempo/options.ts";
import { TempoSource } from "./tempo/tempo-source.ts";
import { ZipkinOptions, ZipkinSource } from "./traces/zipkin-source.ts";

/** What the options of every store of traces have. */
export type TraceOptions = EndpointOptions & { readonly name: string; readonly graceSeconds: number };

/** The services whose traces are asked for where the options name none; they may change. */
type Entries = () => readonly string[];

/** A kind of store of traces. */
interface TraceSourceKind {
  /** Of its section in the configuration: a list of options, one for each store. */
  readonly schema: z.ZodType<readonly TraceOptions[]>;
  /** The sources of such a list; each checks for the doctor what it needs. */
  readonly make: (list: readonly TraceOptions[], entries: Entries, settings: ClientSettings) => SpanSource[];
}

const MOST_STORES = 16;

function kindOf<Options extends TraceOptions>(
  schema: z.ZodType<Options>,
  Source: new (options: Options, entries: Entries, settings: ClientSettings) => SpanSource,
): TraceSourceKind {
  const stores = z.array(schema).max(MOST_STORES);
  return {
    schema: stores.default([]),
    make: (list, entries, settings) =>
      stores.parse(list).map((options) => new Source(options, entries, settings)),
  };
}

/**
 * The stores of traces that can be asked, by the name of their section. A new one is its own files and a line here: configuration,
 * gathering, builder, doctor and chart read this list.
 */
export const TRACE_SOURCES = {
  jaeger: kindOf(JaegerOptions, JaegerSource),
  tempo: kindOf(TempoOptions, TempoSource),
  zipkin: kindOf(ZipkinOptions, ZipkinSource),
} as const;

export type TraceSections = Readonly<Record<keyof typeof TRACE_SOURCES, readonly TraceOptions[]>>;
const NAMES = Object.keys(TRACE_SOURCES) as readonly (keyof typeof TRACE_SOURCES)[];

/** The sections of the configuration. */
export const TRACE_SECTIONS = Object.fromEntries(
  NAMES.map((name) => [name, TRACE_SOURCES[name].schema]),
) as Readonly<Record<keyof typeof TRACE_SOURCES, z.ZodDefault<TraceSourceKind["schema"]>>>;

/** The options of all stores of traces, of whatever kind. */
export const traceOptions = (sections: TraceSections): TraceOptions[] =>
  NAMES.flatMap((name) => sections[name]);

/** The same sections with other options. */
export function mapTraceOptions(
  sections: TraceSections,
  change: (options: TraceOptions) => TraceOptions,
): TraceSections {
  const changed = {} as Record<keyof typeof TRACE_SOURCES, readonly TraceOptions[]>;
  for (const name of NAMES) changed[name] = sections[name].map(change);
  return changed;
}

export const makeTraceSources = (
  sections: TraceSections,
  entries: Entries,
  settings: ClientSettings,
): SpanSource[] => NAMES.flatMap((name) => TRACE_SOURCES[name].make(sections[name], entries, settings));
