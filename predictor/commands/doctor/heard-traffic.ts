import { LatencySketch } from "../../window/latency-sketch.ts";
import type { SpanBatch } from "../../window/span.ts";
import type { DurationPoint } from "../../sources/otlp/pushed-metrics/durations.ts";

/** Spans of one `service.name`. */
export interface HeardService {
  readonly name: string;
  spans: number;
  /** Of those, with a sampling probability in their trace state. */
  sampled: number;
  /** Requests that those stand for. */
  weight: number;
  /** Points of histograms of requests served. */
  durations: number;
  readonly namespaces: Set<string>;
  readonly instances: Set<string>;
  /** From the end of a span until it came, ns. */
  readonly delays: LatencySketch;
  /** By how much the end of a span lay in the future at most, ms. */
  aheadMs: number;
}

/** What one address sent. */
export interface HeardSender {
  readonly address: string;
  spans: number;
  durations: number;
  readonly services: Set<string>;
}

const MOST_SERVICES = 2_000;
const MOST_SENDERS = 1_000;
/** Of a service that are remembered. */
const MOST_NAMES = 50;

/** Listens to what is sent, and remembers of whom, when and how. Numbers and names only. */
export class HeardTraffic {
  readonly services = new Map<string, HeardService>();
  readonly senders = new Map<string, HeardSender>();
  spans = 0;
  invalidIds = 0;

  addSpans(batch: SpanBatch, address: string, nowMs: number): void {
    this.spans += batch.length;
    this.invalidIds += batch.invalidIds;
    const sender = this.#senderOf(address);
    if (sender !== undefined) sender.spans += batch.length;
    for (let index = 0; index < batch.length; index += 1) {
      const resource = batch.resources[batch.resource[index] ?? 0] ?? { service: "" };
      const service = this.#serviceOf(resource.service);
      addName(sender?.services, resource.service);
      if (service === undefined) continue;
      addName(service.namespaces, resource.namespace);
      addName(service.instances, resource.instance);
      service.spans += 1;
      const weight = batch.adjustedCount[index] ?? 0;
      if (weight > 0) service.sampled += 1;
      service.weight += Math.max(weight, 0);
      const durationNs = batch.durationNs[index] ?? 0;
      const endMs = batch.epochMs + ((batch.startNs[index] ?? 0) + durationNs) / 1e6;
      // One that is not over has no end.
      if (durationNs < 0 || !Number.isFinite(endMs)) continue;
      service.delays.add(1e6 * Math.max(0, nowMs - endMs));
      service.aheadMs = Math.max(service.aheadMs, endMs - nowMs);
    }
  }

  addDurations(points: readonly DurationPoint[], address: string): void {
    const sender = this.#senderOf(address);
    if (sender !== undefined) sender.durations += points.length;
    for (const { resource, role } of points) {
      const service = this.#serviceOf(resource.service);
      addName(sender?.services, resource.service);
      if (service === undefined) continue;
      addName(service.namespaces, resource.namespace);
      addName(service.instances, resource.instance);
      if (role === "served") service.durations += 1;
    }
  }

  #serviceOf(name: string): HeardService | undefined {
    let service = this.services.get(name);
    if (service === undefined && this.services.size < MOST_SERVICES) {
      const counts = { spans: 0, sampled: 0, weight: 0, durations: 0, aheadMs: 0 };
      service = { name, ...counts, namespaces: new Set(), instances: new Set(), delays: new LatencySketch() };
      this.services.set(name, service);
    }
    return service;
  }

  #senderOf(address: string): HeardSender | undefined {
    let sender = this.senders.get(address);
    if (sender === undefined && this.senders.size < MOST_SENDERS) {
      sender = { address, spans: 0, durations: 0, services: new Set() };
      this.senders.set(address, sender);
    }
    return sender;
  }
}

function addName(names: Set<string> | undefined, name: string | undefined): void {
  if (name !== undefined && name !== "" && names !== undefined && names.size < MOST_NAMES) names.add(name);
}
