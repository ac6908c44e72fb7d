import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { systemClock } from "@tradewind/core/process/clock.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { safely } from "@tradewind/core/values/config.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { limitProblem, OBJECT_LIMITS } from "@tradewind/core/values/json-limits.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { retryDelayMs } from "@tradewind/core/process/retry-delay.ts";
import type { RetryDelays } from "@tradewind/core/process/retry-delay.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { ApiError, refusalInWatch } from "../client/api-error.ts";
import type { ApiClient } from "../client/client.ts";
import { describePlace } from "../client/resources.ts";
import type { Place, Resource } from "../client/resources.ts";
import { readLines } from "./lines.ts";
import { listPages } from "./list-pages.ts";
import type { ListQuery } from "./list-pages.ts";

/** Hears of what a reflector goes through; `reason` is one of {@link WATCH_ENDS}. */
export interface WatchObserver {
  listed(resource: string): void;
  watchEnded(resource: string, reason: WatchEnd): void;
  itemSkipped(resource: string): void;
}

/** Why a watch had to be begun again: its time was up, it fell behind, it was refused, or it broke. */
export const WATCH_ENDS = ["closed", "expired", "absent", "forbidden", "failed"] as const;
export type WatchEnd = (typeof WATCH_ENDS)[number];

export interface ReflectorOptions<Item> extends ListQuery {
  readonly client: ApiClient;
  readonly resource: Resource;
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  /** Keeps only what is used: what the schema drops takes no memory. */
  readonly schema: z.ZodType<Item>;
  /** Asks for nothing but metadata; `schema` then sees a PartialObjectMetadata. */
  readonly metadataOnly?: boolean;
  readonly log: Logger;
  readonly clock?: Clock;
  readonly rng?: Rng;
  readonly observer?: WatchObserver | undefined;
  /** Called after every change, synchronously. */
  readonly onChange?: (() => void) | undefined;
  readonly pageSize?: number;
  readonly maxItems?: number;
  readonly timings?: Partial<ReflectorTimings> | undefined;
}

export interface ReflectorTimings {
  readonly backoff: RetryDelays;
  /** Wait before asking again for a kind that is not installed or may not be read. */
  readonly absentMs: number;
  /** The server is asked to end each watch after this time, or up to twice of it. */
  readonly watchSeconds: number;
}

const TIMINGS: ReflectorTimings = {
  backoff: { firstMs: 800, maxMs: 30_000 },
  absentMs: 60_000,
  watchSeconds: 300,
};
const PAGE_SIZE = 500;
const MAX_ITEMS = 100_000;
const SHORT_WATCH_MS = 1_000;
/** Namespaces of which something is said once. */
const MOST_SAID = 1_000;
const MAX_LINE_BYTES = 8 * 2 ** 20;
const METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
const METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

const Named = z.object({
  metadata: z.object({
    name: z.string().min(1),
    namespace: z.string().optional(),
    resourceVersion: z.string().min(1),
  }),
});
const WatchEvent = z.object({ type: z.string(), object: z.unknown() });
const Bookmark = z.object({ metadata: z.object({ resourceVersion: z.string().min(1) }) });

/** How a reflector is doing. */
export interface ReflectorState {
  /** True once the collection was read whole; it may have aged since, see {@link Reflector.ageMs}. */
  readonly synced: boolean;
  /** The kind was not installed in this cluster when it was last asked for. */
  readonly absent: boolean;
  readonly problem: string | undefined;
}

/** `namespace/name`, or the name alone for kinds without namespaces. */
export function objectKey(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/**
 * Holds a copy of a collection: reads it in pages, then follows its changes, and reads it anew when it fell too far behind.
 * What it holds stays when the server goes away; {@link ageMs} tells how long ago it was known to be true.
 */
export class Reflector<Item> {
  readonly place: Place;
  private readonly options: ReflectorOptions<Item>;
  private readonly clock: Clock;
  private readonly rng: Rng;
  private readonly timings: ReflectorTimings;
  private readonly stopping = new AbortController();
  private held = new Map<string, Item>();
  private running: Promise<void> | undefined;
  private synced = false;
  private absent = false;
  private problem: string | undefined;
  /** A watch is open, or the server's last answer was that the kind is not installed. */
  private isCurrent = false;
  /** Monotonic time until which the copy is known to be true while it is not current. */
  private trueAtMs = Number.NEGATIVE_INFINITY;
  private resourceVersion: string | undefined;
  /** Namespaces of which it was said that an object is left out. */
  private readonly skippedIn = new Set<string>();
  private failures = 0;

  constructor(options: ReflectorOptions<Item>) {
    this.options = options;
    this.place = { resource: options.resource, namespace: options.namespace };
    this.clock = options.clock ?? systemClock;
    this.rng = options.rng ?? Math.random;
    this.timings = { ...TIMINGS, ...options.timings };
  }

  /** Objects by {@link objectKey}. The map is replaced when the collection is read anew. */
  get items(): ReadonlyMap<string, Item> {
    return this.held;
  }

  get state(): ReflectorState {
    return { synced: this.synced, absent: this.absent, problem: this.problem };
  }

  /**
   * Time since the copy was last known to be true, in ms: 0 while a watch is open or the kind is not installed, infinite
   * before the first list.
   */
  ageMs(): number {
    return this.isCurrent ? 0 : this.clock.monotonicMs() - this.trueAtMs;
  }

  start(): void {
    this.running ??= this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        this.resourceVersion ??= await this.list();
        const openedMs = this.clock.monotonicMs();
        await this.follow();
        this.ended("closed");
        // A server that ends watches as soon as they begin must not be asked in a circle.
        if (this.clock.monotonicMs() - openedMs < SHORT_WATCH_MS) await this.pause(SHORT_WATCH_MS);
      } catch (error) {
        if (signal.aborted) return;
        await this.pause(this.recover(error));
      }
    }
  }

  private async list(): Promise<string> {
    const { client, fieldSelector, labelSelector, metadataOnly } = this.options;
    const fresh = new Map<string, Item>();
    const version = await listPages(
      client,
      this.place,
      {
        fieldSelector,
        labelSelector,
        pageSize: this.options.pageSize ?? PAGE_SIZE,
        maxItems: this.options.maxItems ?? MAX_ITEMS,
        accept: metadataOnly === true ? METADATA_LIST : undefined,
        signal: this.stopping.signal,
      },
      (object) => this.put(fresh, object),
      () => fresh.clear(),
    );
    this.held = fresh;
    this.isTrue();
    this.options.observer?.listed(this.place.resource.plural);
    this.options.onChange?.();
    return version;
  }

  private async follow(): Promise<void> {
    const { client, fieldSelector, labelSelector, metadataOnly } = this.options;
    const { watchSeconds } = this.timings;
    const query = {
      resourceVersion: this.resourceVersion,
      allowWatchBookmarks: true,
      timeoutSeconds: Math.round(watchSeconds * (1 + this.rng())),
      fieldSelector,
      labelSelector,
    };
    const bytes = client.watch(this.place, query, {
      signal: this.stopping.signal,
      ...(metadataOnly === true && { accept: METADATA }),
      onOpen: () => {
        this.isTrue();
        this.isCurrent = true;
      },
    });
    try {
      for await (const line of readLines(bytes, MAX_LINE_BYTES)) this.take(line);
    } finally {
      if (this.isCurrent) this.trueAtMs = this.clock.monotonicMs();
      this.isCurrent = false;
    }
  }

  /** The copy is what the server has now. */
  private isTrue(): void {
    this.trueAtMs = this.clock.monotonicMs();
    this.synced = true;
    this.absent = false;
    if (this.problem !== undefined) {
      this.options.log.info({ resource: describePlace(this.place) }, "the watch works again");
    }
    this.problem = undefined;
  }

  private take(line: string): void {
    const tooMuch = limitProblem(line, OBJECT_LIMITS);
    if (tooMuch !== undefined) {
      // Who wrote it keeps the state before; what it is of is not known without reading it.
      this.skipped("", { problem: tooMuch });
      return;
    }
    const { type, object } = WatchEvent.parse(JSON.parse(line));
    if (type === "ERROR") throw refusalInWatch(this.place, object);
    this.failures = 0;
    if (type === "BOOKMARK") {
      this.resourceVersion = Bookmark.parse(object).metadata.resourceVersion;
      return;
    }
    const { metadata } = Named.parse(object);
    if (type === "DELETED") this.held.delete(objectKey(metadata.namespace, metadata.name));
    else this.put(this.held, object);
    this.resourceVersion = metadata.resourceVersion;
    this.options.onChange?.();
  }

  /** An object that cannot be understood is left out, and an older state of it with it. */
  private put(into: Map<string, Item>, object: unknown): void {
    const named = Named.safeParse(object);
    const parsed = safely(this.options.schema, object);
    const key = named.success
      ? objectKey(named.data.metadata.namespace, named.data.metadata.name)
      : undefined;
    if (key !== undefined && parsed.success) {
      into.set(key, parsed.data);
      return;
    }
    if (key !== undefined) into.delete(key);
    const [issue] = parsed.error?.issues ?? named.error?.issues ?? [];
    const problem = `${issue?.path.map(String).join(".") ?? ""}: ${issue?.message ?? ""}`;
    this.skipped(named.data?.metadata.namespace ?? "", { key, problem });
  }

  /** Says once for each namespace that an object is left out. */
  private skipped(
    namespace: string,
    facts: { readonly key?: string | undefined; readonly problem: string },
  ): void {
    this.options.observer?.itemSkipped(this.place.resource.plural);
    if (this.skippedIn.has(namespace) || this.skippedIn.size >= MOST_SAID) return;
    this.skippedIn.add(namespace);
    this.options.log.warn({ resource: describePlace(this.place), ...facts }, "an object is left out");
  }

  /** Decides what follows from an error. @returns how long to wait */
  private recover(error: unknown): number {
    const end = this.endOf(error);
    this.ended(end);
    this.isCurrent = false;
    if (end === "expired" && this.resourceVersion !== undefined && this.failures === 0) {
      this.resourceVersion = undefined;
      this.failures = 1;
      return 0;
    }
    this.failures += 1;
    if (end === "absent") {
      this.held = new Map();
      this.isTrue();
      this.absent = true;
      this.isCurrent = true;
      this.resourceVersion = undefined;
      this.options.onChange?.();
      return this.timings.absentMs * (0.75 + this.rng() / 2);
    }
    // After anything but a broken connection the copy is read anew.
    if (!(error instanceof ApiError && error.isPassing)) this.resourceVersion = undefined;
    this.report(error);
    if (end === "forbidden") return this.timings.absentMs * (0.75 + this.rng() / 2);
    const retryAfterMs = error instanceof ApiError ? error.retryAfterMs : undefined;
    return retryDelayMs(this.failures, retryAfterMs, this.timings.backoff, this.rng);
  }

  private report(error: unknown): void {
    const problem = error instanceof ApiError ? error.message : describeError(error);
    // One broken connection is the usual end of a load balancer's patience.
    const once = this.failures === 1 && error instanceof ApiError && error.status === 0 && this.synced;
    if (problem !== this.problem && !once) {
      this.options.log.warn({ resource: describePlace(this.place), problem }, "the watch is interrupted");
      this.problem = problem;
    }
  }

  private ended(reason: WatchEnd): void {
    this.options.observer?.watchEnded(this.place.resource.plural, reason);
  }

  /** Only a kind that has to be installed can be absent: a server without pods is not asked at the right address. */
  private endOf(error: unknown): WatchEnd {
    if (error instanceof TradewindError && error.code === "too-large") return "expired";
    if (!(error instanceof ApiError)) return "failed";
    if (error.isExpired) return "expired";
    if (error.isMissing && this.options.resource.installable === true) return "absent";
    return error.isForbidden ? "forbidden" : "failed";
  }

  private async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.stopping.signal }).catch(() => undefined);
  }
}
