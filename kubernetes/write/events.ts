import { z } from "zod";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { ApiClient } from "../client/client.ts";
import { apiVersionOf, RESOURCES } from "../client/resources.ts";
import { ApiError } from "../client/api-error.ts";
import { microTime } from "../election/lease.ts";
import { TokenBucket } from "./token-bucket.ts";

/** What an event is about. */
export interface Regarding {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface EventFacts {
  readonly regarding: Regarding;
  readonly type: "Normal" | "Warning";
  /** `UpperCamelCase`, few different ones. */
  readonly reason: string;
  /** What was done, `UpperCamelCase`. */
  readonly action: string;
  readonly note: string;
}

export type EventResult = "created" | "repeated" | "dropped" | "failed";

export interface EventRecorderOptions {
  readonly client: ApiClient;
  readonly controller: string;
  readonly instance: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onResult: (result: EventResult) => void;
}

/** An event that may be said again. */
interface KnownEvent {
  readonly name: string;
  readonly namespace: string;
  count: number;
  lastMs: number;
}

/** The same thing about the same object within this time is one event with a count. */
const SERIES_MS = 10 * 60_000;
const MAX_KNOWN = 2_000;
const MAX_NOTE = 1_000;
/** Each object may have this many at once and one a minute on average; all together five a second. */
const PER_OBJECT = { burst: 10, perSecond: 1 / 60 };
const OVERALL = { burst: 50, perSecond: 5 };

const Created = z.object({ metadata: z.object({ name: z.string() }) });

/** Writes events, which people see in `kubectl describe`. Never throws and never floods: what is too much is counted and left out. */
export class EventRecorder {
  private readonly options: EventRecorderOptions;
  private readonly known = new Map<string, KnownEvent>();
  private readonly perObject = new Map<string, TokenBucket>();
  private readonly overall = new TokenBucket(OVERALL);

  constructor(options: EventRecorderOptions) {
    this.options = options;
  }

  async record(facts: EventFacts, signal?: AbortSignal): Promise<void> {
    const { clock, log, onResult } = this.options;
    const nowMs = clock.monotonicMs();
    this.forgetOld(nowMs);
    if (!this.mayWrite(facts.regarding.uid, nowMs)) {
      onResult("dropped");
      return;
    }
    const key = contentHash([facts.regarding.uid, facts.type, facts.reason, facts.note]);
    try {
      const known = this.known.get(key);
      if (known !== undefined && (await this.repeat(known, nowMs, signal))) {
        onResult("repeated");
        return;
      }
      await this.create(key, facts, nowMs, signal);
      onResult("created");
    } catch (error) {
      onResult("failed");
      if (signal?.aborted !== true) log.debug({ problem: describeError(error) }, "an event was not written");
    }
  }

  private mayWrite(uid: string, nowMs: number): boolean {
    const bucket = this.perObject.get(uid) ?? new TokenBucket(PER_OBJECT);
    this.perObject.delete(uid);
    this.perObject.set(uid, bucket);
    return bucket.take(nowMs) && this.overall.take(nowMs);
  }

  private async create(
    key: string,
    { action, note, reason, regarding, type }: EventFacts,
    nowMs: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { client, clock, controller, instance } = this.options;
    const { namespace } = regarding;
    const wallMs = clock.nowMs();
    const suffix = contentHash([key, wallMs]);
    const created = await client.create(
      { resource: RESOURCES.events, namespace },
      {
        apiVersion: apiVersionOf(RESOURCES.events),
        kind: RESOURCES.events.kind,
        metadata: { name: `${regarding.name.slice(0, 230)}.${suffix}`, namespace },
        eventTime: microTime(wallMs),
        reportingController: controller,
        reportingInstance: instance.slice(0, 128),
        type,
        reason,
        action,
        note: note.slice(0, MAX_NOTE),
        regarding,
      },
      signal,
    );
    const { name } = Created.parse(created).metadata;
    this.known.set(key, { name, namespace, count: 1, lastMs: nowMs });
  }

  /** @returns false when the event is gone, as events are after an hour */
  private async repeat(known: KnownEvent, nowMs: number, signal: AbortSignal | undefined): Promise<boolean> {
    const { client, clock } = this.options;
    const { name, namespace } = known;
    known.count += 1;
    known.lastMs = nowMs;
    const series = { count: known.count, lastObservedTime: microTime(clock.nowMs()) };
    try {
      await client.patch({ resource: RESOURCES.events, namespace, name }, "merge", { series }, signal);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.isMissing) return false;
      throw error;
    }
  }

  private forgetOld(nowMs: number): void {
    for (const [key, { lastMs }] of this.known) {
      if (nowMs - lastMs > SERIES_MS || this.known.size > MAX_KNOWN) this.known.delete(key);
    }
    for (const uid of this.perObject.keys()) {
      if (this.perObject.size <= MAX_KNOWN) break;
      this.perObject.delete(uid);
    }
  }
}
