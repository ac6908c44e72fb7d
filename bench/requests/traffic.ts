import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { SPAN_KIND } from "@tradewind/predictor/window/span.ts";
import type { WireSpan, WireValue } from "../../test/predictor/sources/otlp/messages.ts";
import type { FakeSeries } from "../../test/predictor/sources/prometheus/fake-prometheus.ts";

type Kind = keyof typeof SPAN_KIND;

/** A span as its process sends it, and when it arrives, ms since the epoch. */
export interface SentSpan extends WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly service: string;
  readonly resource: Readonly<Record<string, string>>;
  arrivesMs: number;
}

/** What a span has beside its time. */
export interface More {
  readonly attributes?: Readonly<Record<string, WireValue>>;
  /** Resource attributes beside `service.name`. */
  readonly resource?: Readonly<Record<string, string>>;
  /** Number of the pod of its service that made it; absent: its spans name none. */
  readonly pod?: number;
  readonly failed?: boolean;
  readonly id?: string;
  /** Another parent than the span it is made below; empty: none. */
  readonly parent?: string;
  readonly traceId?: string;
  readonly traceState?: string;
  /** By how much the clock of its host is ahead, ms. */
  readonly aheadMs?: number;
  /** It is made, and never sent. */
  readonly isLost?: boolean;
}

/** Something that happened at a time and took so long, ms. */
interface Event {
  readonly endMs: number;
  readonly ms: number;
}

/** What is true of the traffic, counted where it is made. */
export class Truth {
  /** Requests by service, requests of users by route, and calls by `caller callee`. */
  readonly requests = new Map<string, Event[]>();
  readonly users = new Map<string, Event[]>();
  readonly calls = new Map<string, Event[]>();

  note(of: Map<string, Event[]>, key: string, event: Event): void {
    const known = of.get(key);
    if (known === undefined) of.set(key, [event]);
    else known.push(event);
  }
}

/** How the spans of one service leave it. */
export interface Exporting {
  /** Between two exports, s. */
  readonly everySeconds: number;
  /** From an export to its arrival, s. */
  readonly delaySeconds: number;
}

const EXPORTING: Exporting = { everySeconds: 1, delaySeconds: 0.3 };

/** Makes traffic of a stretch of time, with all it leaves in telemetry and what is true of it. */
export class World {
  readonly spans: SentSpan[] = [];
  /** What a Prometheus has; it is asked where there is any. */
  readonly series: FakeSeries[] = [];
  readonly truth = new Truth();
  readonly rng: Rng;
  readonly fromMs: number;
  readonly toMs: number;
  /** By service; those that are not named export every second. */
  readonly exporting = new Map<string, Exporting>();
  /** Whether the spans of a request are sent at all; absent: of each. */
  isSampled: (() => boolean) | undefined;
  private ids = 0;

  constructor(seed: number, fromMs: number, toMs: number) {
    this.rng = seededRng(seed);
    this.fromMs = fromMs;
    this.toMs = toMs;
  }

  /** So many a second, at uneven times; each is up to a tenth slower or faster than it says. */
  every(perSecond: number, make: (trace: Trace, number: number) => void): void {
    const gapMs = 1e3 / perSecond;
    for (let number = 0; this.fromMs + number * gapMs < this.toMs; number += 1) {
      const startMs = this.fromMs + gapMs * (number + 0.8 * this.rng());
      make(new Trace(this, startMs, 0.9 + 0.2 * this.rng()), number);
    }
  }

  id(digits: number): string {
    this.ids += 1;
    const random = Math.floor(this.rng() * 2 ** 32).toString(16);
    return `${random.padStart(8, "0")}${this.ids.toString(16).padStart(digits - 8, "0")}`;
  }

  send(span: Omit<SentSpan, "arrivesMs">, madeMs: number): void {
    const { delaySeconds, everySeconds } = this.exporting.get(span.service) ?? EXPORTING;
    // Each process has begun at its own time.
    const phaseMs = 1e3 * everySeconds * ((7 * span.service.length) % 10) * 0.1;
    const everyMs = 1e3 * everySeconds;
    const leavesMs = Math.ceil((madeMs - phaseMs) / everyMs) * everyMs + phaseMs;
    this.spans.push({ ...span, arrivesMs: leavesMs + 1e3 * delaySeconds });
  }
}

/** One request, or one piece of work, from where it begins. */
export class Trace {
  readonly world: World;
  readonly id: string;
  readonly startMs: number;
  /** Times that are said are multiplied by this. */
  readonly pace: number;
  readonly isSampled: boolean;

  constructor(world: World, startMs: number, pace: number) {
    this.world = world;
    this.startMs = startMs;
    this.pace = pace;
    this.id = world.id(32);
    this.isSampled = world.isSampled?.() ?? true;
  }

  /** A span without a parent. */
  span(kind: Kind, service: string, name: string, ms: number, more: More = {}): Made {
    return new Made(this, undefined, {
      kind,
      service,
      name,
      startMs: this.startMs,
      ms: ms * this.pace,
      more,
    });
  }

  /** A request of a user, which begins the trace. */
  user(service: string, route: string, ms: number, more: More = {}): Made {
    return this.span("server", service, route, ms, more).asked().awaited(route);
  }
}

interface Making {
  readonly kind: Kind;
  readonly service: string;
  readonly name: string;
  readonly startMs: number;
  readonly ms: number;
  readonly more: More;
}

/** One span that was made, below which others are made. */
export class Made {
  readonly id: string;
  readonly service: string;
  readonly startMs: number;
  readonly ms: number;
  private readonly trace: Trace;
  private readonly more: More;

  constructor(trace: Trace, parent: Made | undefined, { kind, more, ms, name, service, startMs }: Making) {
    const { world } = trace;
    this.trace = trace;
    this.more = more;
    this.id = more.id ?? world.id(16);
    this.service = service;
    this.startMs = startMs;
    this.ms = ms;
    if (!trace.isSampled || more.isLost === true) return;
    const parentId = more.parent ?? parent?.id;
    const { aheadMs = 0, pod } = more;
    const span = {
      traceId: more.traceId ?? trace.id,
      spanId: this.id,
      ...(parentId !== undefined && parentId !== "" && { parentId }),
      ...(more.traceState !== undefined && { traceState: more.traceState }),
      service,
      resource: {
        "service.name": service,
        ...(pod !== undefined && { "k8s.pod.name": podName(service, pod) }),
        ...more.resource,
      },
      name,
      kind: SPAN_KIND[kind],
      startMs: startMs + aheadMs,
      endMs: startMs + ms + aheadMs,
      statusCode: more.failed === true ? 2 : 0,
      attributes: more.attributes ?? {},
    };
    world.send(span, startMs + ms);
  }

  get endMs(): number {
    return this.startMs + this.ms;
  }

  /** A span below this one that begins so long after it, and takes so long. */
  span(
    kind: Kind,
    service: string,
    name: string,
    ...[afterMs, ms, more = {}]: readonly [afterMs: number, ms: number, more?: More]
  ): Made {
    const { pace } = this.trace;
    const startMs = this.startMs + afterMs * pace;
    return new Made(this.trace, this, { kind, service, name, startMs, ms: ms * pace, more });
  }

  /** A span of the same service, from the same process. */
  own(kind: Kind, name: string, afterMs: number, ms: number, more: More = {}): Made {
    const { pod, resource } = this.more;
    const same = { ...(pod !== undefined && { pod }), ...(resource && { resource }), ...more };
    return this.span(kind, this.service, name, afterMs, ms, same);
  }

  /** A request to another service that this one waits for: a CLIENT span here, and the SERVER span it leads to. */
  ask(service: string, name: string, afterMs: number, ms: number, more: More = {}): Made {
    const call = this.own("client", name, afterMs, ms);
    return call
      .span("server", service, name, 1, ms - 2, more)
      .asked()
      .calledBy(this.service);
  }

  /** It is a request of its service. */
  asked(): this {
    const { truth } = this.trace.world;
    truth.note(truth.requests, this.service, this);
    return this;
  }

  /** A user waits for it. */
  awaited(route: string): this {
    const { truth } = this.trace.world;
    truth.note(truth.users, route, this);
    return this;
  }

  calledBy(caller: string): this {
    const { truth } = this.trace.world;
    truth.note(truth.calls, `${caller} ${this.service}`, this);
    return this;
  }
}

export const podName = (service: string, pod: number): string => `${service}-${pod}`;
