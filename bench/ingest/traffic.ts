import type { Rng } from "@tradewind/core/values/rng.ts";
import { exponential } from "@tradewind/core/values/rng.ts";

/** A span as the generator makes it; times in ms since the Unix epoch. */
export interface MadeSpan {
  readonly trace: readonly [number, number, number, number];
  readonly id: readonly [number, number];
  readonly parent: readonly [number, number] | undefined;
  readonly service: number;
  readonly name: string;
  readonly kind: number;
  readonly startMs: number;
  endMs: number;
  readonly failed: boolean;
}

const INTERNAL = 1;
const SERVER = 2;
const CLIENT = 3;

const LAYERS = 5;
const MAX_CALLEES = 4;
const OWN_MEAN_MS = 4;
const WAY_MS = 0.4;

/** Services in layers, each calling up to four of the next layer. */
export interface Graph {
  readonly services: number;
  readonly entries: readonly number[];
  readonly callees: readonly (readonly number[])[];
}

export function layeredGraph(services: number, rng: Rng): Graph {
  const layerOf = (service: number): number => Math.floor((service * LAYERS) / services);
  const layers = Array.from({ length: LAYERS }, (): number[] => []);
  for (let service = 0; service < services; service += 1) layers[layerOf(service)]?.push(service);
  const callees = Array.from({ length: services }, (_, service) => {
    const next = layers[layerOf(service) + 1] ?? [];
    const count = next.length === 0 ? 0 : 1 + Math.floor(rng() * MAX_CALLEES);
    return Array.from({ length: count }, () => next[Math.floor(rng() * next.length)] ?? 0);
  });
  return { services, entries: layers[0] ?? [], callees };
}

/** Makes whole traces: SERVER, INTERNAL and CLIENT spans, calls one after the other or side by side. */
export class TraceMaker {
  private readonly graph: Graph;
  private readonly rng: Rng;
  private spans: MadeSpan[] = [];
  private trace: MadeSpan["trace"] = [0, 0, 0, 0];

  constructor(graph: Graph, rng: Rng) {
    this.graph = graph;
    this.rng = rng;
  }

  make(startMs: number): MadeSpan[] {
    this.spans = [];
    this.trace = [this.word(), this.word(), this.word(), this.word()];
    const entry = this.graph.entries[Math.floor(this.rng() * this.graph.entries.length)] ?? 0;
    this.serve(entry, startMs, undefined);
    return this.spans;
  }

  /** @returns when the service answered */
  private serve(service: number, startMs: number, parent: MadeSpan["parent"]): number {
    const span = this.open(service, SERVER, `GET /v1/resource-${service % 7}`, startMs, parent);
    let nowMs = startMs + exponential(this.rng, OWN_MEAN_MS / 2);
    const inner = this.open(service, INTERNAL, "handler", nowMs, span.id);
    const parallel = this.rng() < 0.3;
    let latestMs = nowMs;
    for (const callee of this.graph.callees[service] ?? []) {
      if (this.rng() < 0.4) continue;
      const endMs = this.call(service, callee, nowMs, inner.id);
      latestMs = Math.max(latestMs, endMs);
      if (!parallel) nowMs = endMs;
    }
    inner.endMs = latestMs;
    span.endMs = latestMs + exponential(this.rng, OWN_MEAN_MS / 2);
    return span.endMs;
  }

  private call(from: number, to: number, startMs: number, parent: MadeSpan["parent"]): number {
    const span = this.open(from, CLIENT, "GET", startMs, parent);
    span.endMs = this.serve(to, startMs + WAY_MS, span.id) + WAY_MS;
    return span.endMs;
  }

  private open(
    service: number,
    kind: number,
    name: string,
    startMs: number,
    parent: MadeSpan["parent"],
  ): MadeSpan {
    const id = [this.word(), this.word()] as const;
    const failed = this.rng() < 0.01;
    const span = { trace: this.trace, id, parent, service, name, kind, startMs, endMs: startMs, failed };
    this.spans.push(span);
    return span;
  }

  private word(): number {
    return Math.floor(this.rng() * 2 ** 32);
  }
}
