import type { Rng } from "@tradewind/core/values/rng.ts";
import { exponential } from "@tradewind/core/values/rng.ts";
import { exportRequest } from "../ingest/encode.ts";
import type { SentSpan } from "../ingest/encode.ts";
import { ENTRY } from "./application.ts";
import type { SoakApplication } from "./application.ts";

const SERVER = 2;
const CLIENT = 3;
const WAY_MS = 0.3;

type Id = readonly [number, number];

/** The traces of an application as the SDKs of its services send them. */
export class Traces {
  private readonly application: SoakApplication;
  private readonly rng: Rng;
  /** Name of the route that comes and goes; the others stay. */
  route = "GET /route-0";
  private spans = new Map<string, SentSpan[]>();
  private trace: SentSpan["trace"] = [0, 0, 0, 0];

  constructor(application: SoakApplication, rng: Rng) {
    this.application = application;
    this.rng = rng;
  }

  /** Requests that ended within the last `seconds`, one export per service. */
  take(nowMs: number, seconds: number): Uint8Array[] {
    this.spans = new Map();
    let atMs = nowMs - 1e3 * seconds;
    for (;;) {
      atMs += exponential(this.rng, 1e3 / this.application.rate(nowMs));
      if (atMs > nowMs) break;
      this.trace = [this.word(), this.word(), this.word(), this.word()];
      const draw = this.rng();
      this.serve(ENTRY, draw < 0.7 ? "GET /" : draw < 0.9 ? "POST /book" : this.route, atMs - 150, undefined);
    }
    return [...this.spans].map(([service, spans]) => exportRequest(service, spans));
  }

  /** @returns when the service answered */
  private serve(name: string, operation: string, startMs: number, parent: Id | undefined): number {
    const service = this.application.services.get(name);
    if (service === undefined) return startMs;
    const span = this.open(name, SERVER, operation, startMs, parent);
    const ownMs = exponential(this.rng, 1e3 * this.application.meanSeconds(service, startMs));
    let nowMs = startMs + ownMs / 2;
    for (const callee of this.application.callsOf(service)) {
      const call = this.open(name, CLIENT, "GET", nowMs, span.id);
      call.endMs = this.serve(callee, "GET /v1", nowMs + WAY_MS, call.id) + WAY_MS;
      nowMs = call.endMs;
    }
    span.endMs = nowMs + ownMs / 2;
    return span.endMs;
  }

  private open(
    service: string,
    kind: number,
    name: string,
    startMs: number,
    parent: Id | undefined,
  ): SentSpan {
    const id = [this.word(), this.word()] as const;
    const failed = this.rng() < 0.005;
    const span = { trace: this.trace, id, parent, name, kind, startMs, endMs: startMs, failed };
    const spans = this.spans.get(service) ?? [];
    spans.push(span);
    this.spans.set(service, spans);
    return span;
  }

  private word(): number {
    return Math.floor(this.rng() * 2 ** 32);
  }
}
