import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { ApiError } from "../client/api-error.ts";
import type { ApiClient } from "../client/client.ts";
import { apiVersionOf, RESOURCES } from "../client/resources.ts";
import { Lease, microTime } from "./lease.ts";

/** The usual times of the field: a dead leader is replaced within about 17 s. */
export interface ElectionTimings {
  /** How long others wait after the last sign of life they saw. */
  readonly leaseSeconds: number;
  /** A leader that could not renew for so long stops: less than the lease, so that it stops before others begin. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

const TIMINGS: ElectionTimings = { leaseSeconds: 15, renewDeadlineMs: 10_000, retryMs: 2_000 };

export interface ElectorOptions {
  readonly client: Pick<ApiClient, "create" | "find" | "update">;
  readonly namespace: string;
  readonly name: string;
  /** Names this process; two must never share one. */
  readonly identity: string;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly log: Logger;
  readonly timings?: ElectionTimings | undefined;
  /**
   * The leader's work. It is begun with a signal that aborts the moment leadership is lost or given up, and the next
   * leader waits for its end only as long as the lease lasts.
   */
  readonly lead: (signal: AbortSignal) => Promise<void>;
}

/** What another process's lease looked like, and when we first saw it so, on our own clock. */
interface Observation {
  readonly fingerprint: string;
  readonly seenMs: number;
}

/** A lease that has become ours, and the time before it was written: others may count it from then on. */
interface HeldLease {
  readonly lease: Lease;
  readonly writtenMs: number;
}

/**
 * Leader election by a Lease, as Kubernetes' own components do it: a lease counts as expired when *we* have not seen it
 * change for its duration, so that clocks need not agree, and the server's refusal of old versions settles races.
 */
export class LeaderElector {
  private readonly options: ElectorOptions;
  private readonly timings: ElectionTimings;
  private readonly stopping = new AbortController();
  private observed: Observation | undefined;
  private leading = false;
  private holder: string | undefined;
  private problem: string | undefined;
  private running: Promise<void> | undefined;

  constructor(options: ElectorOptions) {
    this.options = options;
    this.timings = options.timings ?? TIMINGS;
  }

  get isLeader(): boolean {
    return this.leading;
  }

  /** Who holds the lease, as last seen. */
  get leader(): string | undefined {
    return this.holder;
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Ends the work, if it is ours, and gives the lease back, so that another takes over at once. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const held = await this.acquire();
      if (held !== undefined) await this.leadWhileHeld(held);
      else await this.pause(signal);
    }
  }

  private async leadWhileHeld({ lease, writtenMs }: HeldLease): Promise<void> {
    const { identity, lead, log, name } = this.options;
    const term = new AbortController();
    const signal = AbortSignal.any([term.signal, this.stopping.signal]);
    this.leading = true;
    log.info({ lease: name, identity }, "leading");
    const work = lead(signal).catch((error: unknown) => {
      if (!signal.aborted) log.error({ problem: describeError(error) }, "the leader's work failed");
    });
    const last = await this.renewUntilLost(lease, writtenMs, signal);
    this.leading = false;
    term.abort();
    log.info({ lease: name, identity }, "no longer leading");
    await work;
    if (last !== undefined && this.stopping.signal.aborted) await this.release(last);
  }

  /** @returns the lease as last renewed when it is still ours */
  private async renewUntilLost(
    held: Lease,
    writtenMs: number,
    signal: AbortSignal,
  ): Promise<Lease | undefined> {
    const { clock } = this.options;
    let current = held;
    let renewedMs = writtenMs;
    for (;;) {
      await this.pause(signal);
      if (signal.aborted) return current;
      const leftMs = this.timings.renewDeadlineMs - (clock.monotonicMs() - renewedMs);
      if (leftMs <= 0) return undefined;
      try {
        const startedMs = clock.monotonicMs();
        current = await this.write(current, signal, { deadlineMs: Math.max(1, Math.round(leftMs)) });
        renewedMs = startedMs;
        this.problem = undefined;
      } catch (error) {
        if (signal.aborted) return current;
        if (error instanceof ApiError && (error.isConflict || error.isMissing)) return undefined;
        this.report(error);
      }
    }
  }

  private async acquire(): Promise<HeldLease | undefined> {
    const { client, clock, identity, name, namespace } = this.options;
    const place = { resource: RESOURCES.leases, namespace, name };
    const { signal } = this.stopping;
    try {
      const lease = await client.find(place, Lease, signal);
      this.problem = undefined;
      if (lease === undefined) {
        const writtenMs = clock.monotonicMs();
        return { lease: await this.create(), writtenMs };
      }
      this.holder = lease.spec?.holderIdentity ?? undefined;
      const isFree = this.holder === undefined || this.holder === "" || this.holder === identity;
      if (!isFree && !this.hasExpired(lease)) return undefined;
      const writtenMs = clock.monotonicMs();
      return { lease: await this.write(lease, signal), writtenMs };
    } catch (error) {
      if (!signal.aborted && !(error instanceof ApiError && error.isConflict)) this.report(error);
      return undefined;
    }
  }

  private hasExpired(lease: Lease): boolean {
    const nowMs = this.options.clock.monotonicMs();
    const fingerprint = `${lease.metadata.resourceVersion} ${lease.spec?.holderIdentity ?? ""}`;
    if (this.observed?.fingerprint !== fingerprint) this.observed = { fingerprint, seenMs: nowMs };
    const durationMs = (lease.spec?.leaseDurationSeconds ?? this.timings.leaseSeconds) * 1e3;
    return nowMs - this.observed.seenMs > durationMs;
  }

  private async create(): Promise<Lease> {
    const { client, clock, identity, name, namespace } = this.options;
    const now = microTime(clock.nowMs());
    const created = await client.create(
      { resource: RESOURCES.leases, namespace },
      {
        apiVersion: apiVersionOf(RESOURCES.leases),
        kind: RESOURCES.leases.kind,
        metadata: { name, namespace },
        spec: {
          holderIdentity: identity,
          leaseDurationSeconds: this.timings.leaseSeconds,
          acquireTime: now,
          renewTime: now,
          leaseTransitions: 0,
        },
      },
      this.stopping.signal,
    );
    this.holder = identity;
    return Lease.parse(created);
  }

  /** Takes or renews the lease over exactly the version that was read. */
  private async write(
    lease: Lease,
    signal: AbortSignal,
    { deadlineMs, released = false }: { readonly deadlineMs?: number; readonly released?: boolean } = {},
  ): Promise<Lease> {
    const { client, clock, identity, name, namespace } = this.options;
    const now = microTime(clock.nowMs());
    const isOurs = lease.spec?.holderIdentity === identity;
    const transitions = lease.spec?.leaseTransitions ?? 0;
    const updated = await client.update(
      { resource: RESOURCES.leases, namespace, name },
      {
        apiVersion: apiVersionOf(RESOURCES.leases),
        kind: RESOURCES.leases.kind,
        metadata: lease.metadata,
        spec: {
          holderIdentity: released ? "" : identity,
          leaseDurationSeconds: released ? 1 : this.timings.leaseSeconds,
          acquireTime: isOurs ? (lease.spec?.acquireTime ?? now) : now,
          renewTime: now,
          leaseTransitions: isOurs ? transitions : transitions + 1,
        },
      },
      signal,
      deadlineMs,
    );
    this.holder = released ? undefined : identity;
    return Lease.parse(updated);
  }

  private async release(lease: Lease): Promise<void> {
    try {
      await this.write(lease, AbortSignal.timeout(2_000), { released: true });
    } catch (error) {
      this.options.log.debug(
        { problem: describeError(error) },
        "the lease was not given back; it will expire",
      );
    }
  }

  private report(error: unknown): void {
    const problem = describeError(error);
    if (problem !== this.problem) {
      this.options.log.warn({ problem, lease: this.options.name }, "the lease cannot be read or written");
    }
    this.problem = problem;
  }

  private async pause(signal: AbortSignal): Promise<void> {
    const ms = this.timings.retryMs * (1 + 0.2 * this.options.rng());
    await delay(ms, undefined, { signal }).catch(() => undefined);
  }
}
