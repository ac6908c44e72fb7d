import { z } from "zod";
import type { Allocation, ApplicationMode } from "@tradewind/core/contract/plan.ts";
import {
  DEFAULT_OVERRIDE_MS,
  KeptSize,
  MOST_OVERRIDE_MS,
  MOST_OVERRIDES,
  OVERRIDE_KINDS,
  OverrideTarget,
  OverrideText,
  targetText,
} from "@tradewind/core/contract/override.ts";
import type { Override, OverrideInForce } from "@tradewind/core/contract/override.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { fairlyCut } from "@tradewind/core/net/fair-share.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";

const MINUTE_MS = 60_000;
/** `undo` of several services takes back the changes of this long before the newest one; the others are held as they are. Chosen. ms */
export const UNDO_REACH_MS = 15 * MINUTE_MS;
/** How long one that is over is shown. ms */
const SHOWN_MS = MOST_OVERRIDE_MS;
/** In force at once of one namespace, so that no tenant takes the places of all. */
const MOST_OF_NAMESPACE = 200;
/** Names that a refusal lists. */
const MOST_NAMES = 20;

/** What a person asks for, as the API, an annotation and the page say it. */
export const OverrideOrder = z.strictObject({
  kind: z.enum(OVERRIDE_KINDS),
  /** A service or an application by its name; absent: everything, or what `application` says. */
  name: z.string().min(1).max(253).optional(),
  ...OverrideTarget.omit({ service: true }).shape,
  replicas: KeptSize.shape.replicas,
  cpuCores: KeptSize.shape.cpuCores,
  memoryBytes: KeptSize.shape.memoryBytes,
  /** How long, or until when; absent: {@link DEFAULT_OVERRIDE_MS}. */
  forSeconds: z.number().positive().optional(),
  until: z.iso.datetime({ offset: true }).optional(),
  reason: OverrideText,
});
export type OverrideOrder = z.infer<typeof OverrideOrder>;

/** One service as far as an override needs it. */
export interface KnownService {
  readonly namespace: string;
  readonly application: string;
  readonly service: string;
  readonly mode: ApplicationMode;
  /** In force where decisions are carried out, else what runs; absent where neither is known. */
  readonly sizes: Partial<Allocation>;
  readonly minReplicas?: number | undefined;
  readonly maxReplicas?: number | undefined;
  /** The last decision that changed a size, and the sizes before it. */
  readonly lastChange?: { readonly before: Partial<Allocation>; readonly decidedAtMs: number } | undefined;
}

/** Where a service stands, as overrides name it. */
export type ServicePlace = Pick<KnownService, "application" | "namespace" | "service">;

const refused = (message: string): TradewindError => new TradewindError("invalid-input", message);

const listOf = (names: Iterable<string>): string => {
  const sorted = [...new Set(names)].toSorted();
  const more = sorted.length - MOST_NAMES;
  return `${sorted.slice(0, MOST_NAMES).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
};

/**
 * What an order names: a service before an application of the same name.
 * @throws TradewindError `unknown-target` with the names that there are, `invalid-input` where the name is of several
 */
export function targetOf(
  { application, name, namespace }: Pick<OverrideOrder, "application" | "name" | "namespace">,
  services: readonly KnownService[],
): OverrideTarget {
  const candidates = services.filter(
    (each) =>
      each.namespace === (namespace ?? each.namespace) &&
      each.application === (application ?? each.application),
  );
  if (name === undefined && application === undefined && (namespace === undefined || candidates.length > 0))
    return namespace === undefined ? {} : { namespace };
  const ofService = candidates.filter(({ service }) => service === name);
  const ofApplication = candidates.filter((each) => each.application === (name ?? application));
  const matchingServices = name !== undefined && ofService.length > 0 ? ofService : ofApplication;
  const targets = new Map(
    matchingServices.map((each): [string, OverrideTarget] => {
      const target = {
        namespace: each.namespace,
        application: each.application,
        ...(matchingServices === ofService && { service: each.service }),
      };
      return [JSON.stringify(target), target];
    }),
  );
  const [target, ...moreTargets] = targets.values();
  if (target === undefined) {
    const asked = name ?? application ?? `namespace ${namespace}`;
    const known = services.length === 0 ? "nothing is decided yet" : namesOf(services);
    throw new TradewindError("unknown-target", `there is no service or application '${asked}': ${known}`);
  }
  if (moreTargets.length > 0)
    throw refused(
      `'${name ?? application}' is of several: ${listOf([...targets.values()].map(ofWhichText))}; name the namespace or the application too`,
    );
  return target;
}

const ofWhichText = ({ application = "", namespace = "" }: OverrideTarget): string =>
  `${namespace}/${application}`;

const namesOf = (services: readonly KnownService[]): string =>
  `services are ${listOf(services.map(({ service }) => service))}; applications are ${listOf(services.map(ofWhichText))}`;

/**
 * When an order ends.
 * @throws TradewindError `invalid-input` for an end in the past, or more than a day ahead
 */
function endOf({ forSeconds, until }: OverrideOrder, nowMs: number): number {
  if (forSeconds !== undefined && until !== undefined) throw refused("name a length or an end, not both");
  const untilMs =
    until === undefined
      ? nowMs + (forSeconds === undefined ? DEFAULT_OVERRIDE_MS : 1e3 * forSeconds)
      : Date.parse(until);
  if (untilMs <= nowMs) throw refused("its end lies in the past; nothing was changed");
  if (untilMs - nowMs > MOST_OVERRIDE_MS)
    throw refused("an override lasts at most 24 hours; order it again tomorrow, or change the Application");
  return Math.round(untilMs);
}

/**
 * What an order comes to now.
 * @param services all that decisions are known of
 * @param orderer who orders, and the id, where others shall know the same order by it
 * @throws TradewindError `unknown-target`, `invalid-input`
 */
export function ordered(
  order: OverrideOrder,
  services: readonly KnownService[],
  orderer: { readonly by: string; readonly id?: string | undefined; readonly nowMs: number },
): Override {
  const { by, nowMs } = orderer;
  const target = targetOf(order, services);
  const targetServices = services.filter((each) => covers(target, each));
  const untilMs = endOf(order, nowMs);
  const { cpuCores, kind, memoryBytes, reason, replicas } = order;
  const namedSizes = { replicas, cpuCores, memoryBytes };
  const isNamed = Object.values(namedSizes).some((size) => size !== undefined);
  if (isNamed && (kind === "pause" || kind === "undo"))
    throw refused(`'${kind}' takes no sizes; to name them write 'hold'`);
  if (kind === "floor" && (cpuCores ?? memoryBytes) !== undefined)
    throw refused("a floor is of replicas; to keep the size of containers write 'hold'");
  const kept = kind === "pause" ? [] : keptSizes(kind, targetServices, namedSizes);
  const id = orderer.id ?? contentHash([target, kind, kept, untilMs, by, reason, nowMs]).slice(0, 10);
  return { id, kind, target, kept, startedAtMs: Math.round(nowMs), untilMs, by, reason };
}

type NamedSizes = { readonly [Size in keyof Allocation]?: Allocation[Size] | undefined };

function keptSizes(
  kind: Override["kind"],
  services: readonly KnownService[],
  namedSizes: NamedSizes,
): KeptSize[] {
  const newestMs = Math.max(...services.map(({ lastChange }) => lastChange?.decidedAtMs ?? 0));
  const isTakenBack = ({ lastChange }: KnownService): boolean =>
    kind === "undo" && lastChange !== undefined && newestMs - lastChange.decidedAtMs <= UNDO_REACH_MS;
  if (kind === "undo" && !services.some(isTakenBack))
    throw refused("no change is known that could be undone; 'hold' keeps the sizes as they are");
  return services.map((each) => {
    const { maxReplicas = Infinity, minReplicas = 0, namespace, service, sizes } = each;
    const before = isTakenBack(each) ? each.lastChange?.before : undefined;
    const { cpuCores, memoryBytes, replicas } = { ...sizes, ...before, ...withoutAbsent(namedSizes) };
    if (
      namedSizes.replicas !== undefined &&
      (namedSizes.replicas < minReplicas || namedSizes.replicas > maxReplicas)
    )
      throw refused(
        `${namedSizes.replicas} replicas of ${service} lie outside of its bounds, ${minReplicas} to ${maxReplicas}; change minReplicas or maxReplicas of the Application first`,
      );
    if (kind === "floor") return { namespace, service, ...withoutAbsent({ replicas }) };
    return { namespace, service, ...withoutAbsent({ replicas, cpuCores, memoryBytes }) };
  });
}

const withoutAbsent = (sizes: NamedSizes): Partial<Allocation> =>
  Object.fromEntries(Object.entries(sizes).filter(([, size]) => size !== undefined));

/** Whether a target is the service, or what it is a part of. */
export const covers = (target: OverrideTarget, place: ServicePlace): boolean =>
  place.namespace === (target.namespace ?? place.namespace) &&
  place.application === (target.application ?? place.application) &&
  place.service === (target.service ?? place.service);

/** A service is nearer than its application, that than its namespace, and that than everything. */
const nearness = (target: OverrideTarget): number =>
  Object.values(target).filter((part) => part !== undefined).length;

/** The override that counts for a service: the nearest, of these the newest. */
export function inForce(overrides: Iterable<Override>, place: ServicePlace): Override | undefined {
  let best: Override | undefined;
  for (const each of overrides) {
    if (each.ended !== undefined || !covers(each.target, place)) continue;
    const further = nearness(each.target) - (best === undefined ? -1 : nearness(best.target));
    if (further > 0 || (further === 0 && each.startedAtMs >= (best?.startedAtMs ?? 0))) best = each;
  }
  return best;
}

/** What a decision about the service reads. @param endsAtMs on the clock of its plan */
export function asRead(
  { by, id, kept, kind, reason, untilMs }: Override,
  { namespace, service }: ServicePlace,
  endsAtMs: number,
): Omit<OverrideInForce, "mode"> {
  const own = kept.find((each) => each.service === service && each.namespace === namespace);
  const { namespace: _namespace, service: _service, ...sizes } = own ?? { namespace, service };
  return { id, kind, ...sizes, by, reason, untilMs, endsAtMs };
}

const sameTarget = (one: OverrideTarget, other: OverrideTarget): boolean =>
  one.service === other.service && one.application === other.application && one.namespace === other.namespace;

/**
 * The list with one more. Of two on the same target the newer one counts, whichever is heard of first; the older is shown as replaced.
 * @throws TradewindError `invalid-input` where there are too many
 */
export function withOne(overrides: readonly Override[], fresh: Override): Override[] {
  const known = overrides.find(({ id }) => id === fresh.id);
  const others = overrides.filter(({ id }) => id !== fresh.id);
  // One that is over stays over, whoever says that it is not.
  const ownOverride = known?.ended === undefined ? fresh : known;
  const allOverrides = [...others, ownOverride];
  const open = allOverrides.filter(isOpen);
  const near = open.filter(({ target }) => target.namespace === ownOverride.target.namespace);
  if (open.length > MOST_OVERRIDES || near.length > MOST_OF_NAMESPACE)
    throw refused(
      `at most ${MOST_OVERRIDES} overrides are in force, ${MOST_OF_NAMESPACE} of one namespace; release some: tradewind release NAME`,
    );
  const rivals = new Set(
    allOverrides.filter((each) => isOpen(each) && sameTarget(each.target, ownOverride.target)),
  );
  let newest = fresh;
  for (const each of rivals) if (each.startedAtMs > newest.startedAtMs) newest = each;
  const how = { how: "replaced" as const, atMs: newest.startedAtMs, by: newest.by };
  return allOverrides.map((each) =>
    rivals.has(each) && each !== newest ? Object.assign({}, each, { ended: how }) : each,
  );
}

export const isOpen = ({ ended }: Override): boolean => ended === undefined;

/** Ends what is in force of this very target. @returns the ids that ended */
export function ended(
  overrides: readonly Override[],
  isIt: (override: Override) => boolean,
  how: NonNullable<Override["ended"]>,
): Override[] {
  return overrides.map((each) =>
    isOpen(each) && isIt(each) ? Object.assign({}, each, { ended: how }) : each,
  );
}

/** @throws TradewindError `not-overridden` where nothing of it is in force, with what is */
export function released(
  overrides: readonly Override[],
  target: OverrideTarget,
  { by, nowMs }: { readonly by: string; readonly nowMs: number },
): Override[] {
  const isIt = (each: Override): boolean => sameTarget(each.target, target);
  if (overrides.some((each) => isOpen(each) && isIt(each)))
    return ended(overrides, isIt, { how: "released", atMs: Math.round(nowMs), by });
  const open = overrides.filter(isOpen).map((each) => targetText(each.target));
  const there = open.length === 0 ? "nothing is" : `these are: ${listOf(open)}`;
  throw new TradewindError("not-overridden", `${targetText(target)} is not overridden; ${there}`);
}

/** Those that are in force, and those that came to their end within a day. */
export function shown(overrides: readonly Override[], nowMs: number): Override[] {
  const sorted = overrides.toSorted((a, b) => b.startedAtMs - a.startedAtMs);
  const over = sorted.filter(({ ended: end }) => end !== undefined && nowMs - end.atMs < SHOWN_MS);
  const kept = new Set(fairlyCut(over, ({ target }) => target.namespace ?? "", MOST_OVERRIDES));
  return sorted.filter((each) => isOpen(each) || kept.has(each));
}

/**
 * How long one that is read back still lasts: as long as the wall clock says, and never longer than it was ordered for, so that a clock that
 * was set back prolongs nothing by more than that. ms
 */
export const leftMs = ({ startedAtMs, untilMs }: Override, nowMs: number): number =>
  Math.min(untilMs - nowMs, untilMs - startedAtMs);
