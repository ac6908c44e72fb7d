import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Override, OverrideExchange, OverrideTarget } from "@tradewind/core/contract/override.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { Turns } from "@tradewind/core/process/turns.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import type { OverrideFile } from "../../keep/override-file.ts";
import {
  asRead,
  covers,
  ended,
  inForce,
  isOpen,
  leftMs,
  ordered,
  released,
  shown,
  targetOf,
  withOne,
} from "./rules.ts";
import type { KnownService, OverrideOrder, ServicePlace } from "./rules.ts";

/** The override that counts for a service. */
export interface OverriddenService {
  readonly override: Override;
  /** Its end, on our monotonic clock. */
  readonly endsMs: number;
}

export interface OverridesEdges {
  /** Absent: everything is forgotten at the end of the process. */
  readonly file: Pick<OverrideFile, "load" | "save"> | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** All that decisions are known of. */
  readonly services: () => readonly KnownService[];
  /** Resolves once KEDA is answered by what is in force now. */
  readonly onChange: () => Promise<void>;
  readonly onEvents: (events: readonly AuditEvent[]) => void;
  /** Hears of each that began or ended. */
  readonly onOrder: (override: Override) => void;
}

/** Who orders. */
export interface Orderer {
  readonly by: string;
  /** Names the order where others take the same; absent: it is another one each time. */
  readonly id?: string | undefined;
  /** The only namespaces that may be overridden, and whose services are named; absent: all. */
  readonly namespaces?: readonly string[] | undefined;
}

/**
 * What persons ordered in the place of plans. An order is on disk before it counts. While the process lives its end is that of its length on
 * the monotonic clock; what is read back after a restart ends by the wall clock.
 */
export class Overrides {
  readonly #edges: OverridesEdges;
  readonly #turns = new Turns();
  #all: readonly Override[] = [];
  /** On our monotonic clock, by id. */
  readonly #endsMs = new Map<string, number>();
  #problem: string | undefined;
  #revision = 0;

  constructor(edges: OverridesEdges) {
    this.#edges = edges;
  }

  /** Why what is ordered cannot be kept. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Rises with every change. */
  get revision(): number {
    return this.#revision;
  }

  /** Takes what the process before kept. */
  async restore(): Promise<void> {
    const { clock, file, log } = this.#edges;
    if (file === undefined) return;
    try {
      const { overrides, problem } = await file.load(clock.nowMs());
      if (problem !== undefined) log.error({ problem }, "overrides that cannot be read are not in force");
      this.#put(overrides);
    } catch (error) {
      this.#problem = describeError(error);
      log.error({ problem: this.#problem }, "overrides of before are not in force");
    }
    await this.look();
    // Decisions of before may be held by what is over, or not yet by what had been ordered.
    await this.#edges.onChange();
  }

  /** Newest first: those in force, and those that came to their end within a day. */
  list(): readonly Override[] {
    return shown(this.#all, this.#edges.clock.nowMs());
  }

  /** What counts for a service now. */
  of(place: ServicePlace): OverriddenService | undefined {
    if (this.#endsMs.size === 0) return undefined;
    const override = inForce(this.#all, place);
    if (override === undefined) return undefined;
    const endsMs = this.#endsMs.get(override.id);
    return endsMs === undefined ? undefined : { override, endsMs };
  }

  /** What predictors of an application are told of it: what there is, and what counts for each service. */
  saidOf({ application, namespace }: Pick<ServicePlace, "application" | "namespace">): OverrideExchange {
    const own = this.list().filter(({ target }) =>
      covers({ ...target, service: undefined }, { application, namespace, service: "" }),
    );
    const services = this.#endsMs.size === 0 ? [] : this.#edges.services();
    return {
      overrides: own.map((each) =>
        Object.assign({}, each, { kept: each.kept.filter((size) => size.namespace === namespace) }),
      ),
      services: services
        .filter((each) => each.application === application && each.namespace === namespace)
        .flatMap((each) => {
          const found = this.of(each);
          if (found === undefined) return [];
          const { cpuCores, kind, memoryBytes, replicas } = asRead(found.override, each, 0);
          return [{ service: each.service, kind, replicas, cpuCores, memoryBytes }];
        }),
    };
  }

  /** @throws TradewindError as the rules do, and `state-unwritable`; nothing has then changed */
  async order(order: OverrideOrder, orderer: Orderer): Promise<Override> {
    return this.#turns.take(async () => {
      const known = this.#all.find(({ id }) => id === orderer.id);
      if (known !== undefined) return sameOrder(known, order);
      const now = { ...orderer, nowMs: this.#edges.clock.nowMs() };
      const fresh = ordered(order, this.#servicesFor(orderer), now);
      requireRight(fresh.target, orderer);
      await this.#take(withOne(this.#all, fresh));
      return fresh;
    });
  }

  /** Ends what is in force of a target. @throws as {@link order}, and `not-overridden` */
  async release(
    of: Pick<OverrideOrder, "application" | "name" | "namespace">,
    orderer: Orderer,
  ): Promise<readonly Override[]> {
    return this.#turns.take(async () => {
      const { by } = orderer;
      const target = targetOf(of, this.#servicesFor(orderer));
      requireRight(target, orderer);
      const before = new Set(this.#all.filter(isOpen).map(({ id }) => id));
      const after = released(this.#all, target, { by, nowMs: this.#edges.clock.nowMs() });
      await this.#take(after);
      return after.filter((each) => before.has(each.id) && !isOpen(each));
    });
  }

  /** Takes what another scaler, or an annotation, has ordered: what is known already changes nothing. Never throws. */
  async adopt(theirs: readonly Override[]): Promise<void> {
    await this.#turns.take(async () => {
      const nowMs = this.#edges.clock.nowMs();
      let merged = this.#all;
      for (const heard of theirs) {
        const known = this.#all.find(({ id }) => id === heard.id);
        if (known !== undefined && (known.ended !== undefined || heard.ended === undefined)) continue;
        if (known === undefined && (heard.ended !== undefined || leftMs(heard, nowMs) <= 0)) continue;
        try {
          merged =
            heard.ended === undefined
              ? withOne(merged, heard)
              : ended(merged, ({ id }) => id === heard.id, heard.ended);
        } catch (error) {
          this.#edges.log.warn(
            { problem: describeError(error) },
            "an override of another scaler is not taken",
          );
        }
      }
      if (merged !== this.#all) await this.#take(merged).catch(() => undefined);
    });
  }

  /** Ends those whose time is up. Call it every second. */
  async look(): Promise<void> {
    const monotonicMs = this.#edges.clock.monotonicMs();
    const isUp = ({ id }: Override): boolean => (this.#endsMs.get(id) ?? Infinity) <= monotonicMs;
    if (!this.#all.some((each) => isOpen(each) && isUp(each))) return;
    await this.#turns.take(async () => {
      const atMs = Math.round(this.#edges.clock.nowMs());
      const after = ended(this.#all, isUp, { how: "expired", atMs });
      // What the disk refuses is over all the same: it would end by the wall clock after a restart, too.
      await this.#take(after).catch(async () => this.#puttingInForce(after));
    });
  }

  /** On disk first. @throws TradewindError `state-unwritable` */
  async #take(after: readonly Override[]): Promise<void> {
    const nowMs = this.#edges.clock.nowMs();
    const shownOverrides = shown(after, nowMs);
    try {
      await this.#edges.file?.save(shownOverrides, nowMs);
      this.#problem = undefined;
    } catch (error) {
      this.#problem = describeError(error);
      throw error;
    }
    await this.#puttingInForce(shownOverrides);
  }

  async #puttingInForce(after: readonly Override[]): Promise<void> {
    const before = new Map(this.#all.map((each) => [each.id, each]));
    this.#put(after);
    const changed = after.filter((each) => before.get(each.id)?.ended !== each.ended || !before.has(each.id));
    for (const each of changed) this.#edges.onOrder(each);
    this.#edges.onEvents(changed.flatMap((each) => this.#eventsOf(each)));
    await this.#edges.onChange();
  }

  #put(after: readonly Override[]): void {
    const { clock } = this.#edges;
    const [nowMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
    this.#all = after;
    this.#revision += 1;
    const open = new Map(after.filter(isOpen).map((each) => [each.id, each]));
    for (const id of this.#endsMs.keys()) if (!open.has(id)) this.#endsMs.delete(id);
    for (const [id, each] of open)
      if (!this.#endsMs.has(id)) this.#endsMs.set(id, monotonicMs + leftMs(each, nowMs));
  }

  #servicesFor({ namespaces }: Orderer): readonly KnownService[] {
    const all = this.#edges.services();
    return namespaces === undefined ? all : all.filter(({ namespace }) => namespaces.includes(namespace));
  }

  /** A row for each service, so that the trail of a service says who held it. */
  #eventsOf(override: Override): AuditEvent[] {
    const { by, ended: end, id, kind, reason, startedAtMs, target, untilMs } = override;
    return this.#edges
      .services()
      .filter((each) => covers(target, each))
      .map(({ application, namespace, service }): AuditEvent => {
        const { replicas } = asRead(override, { application, namespace, service }, 0);
        const row: Extract<AuditEvent, { kind: "override" }> = {
          kind: "override",
          application,
          namespace,
          service,
          atMs: end?.atMs ?? startedAtMs,
          override: id,
          action: kind,
          state: end?.how ?? "begun",
          by: end?.by ?? by,
          note: reason,
          untilMs,
        };
        return replicas === undefined ? row : Object.assign(row, { replicas });
      });
  }
}

/** An order that comes twice counts once. @throws TradewindError `invalid-input` where the id is of another one */
function sameOrder(known: Override, { kind, reason }: OverrideOrder): Override {
  if (known.kind === kind && known.reason === reason) return known;
  throw new TradewindError("invalid-input", `the id ${known.id} is of another order; leave it out`);
}

/** Only a name finds what is of a namespace; everything is of all of them. @throws TradewindError `not-allowed` */
function requireRight({ namespace }: OverrideTarget, { namespaces }: Orderer): void {
  if (namespaces === undefined || namespace !== undefined) return;
  const own = namespaces.join(", ");
  throw new TradewindError(
    "not-allowed",
    `this token is for ${own} only: name a namespace; nothing was changed`,
  );
}
