import { z } from "zod";

export const NAME_HOLDERS_SCHEMA = "tradewind.dev/name-holders/v1";
/** A name whose holder is gone is free after so long: until then a Deployment that is deleted and made again keeps it. */
const KEPT_MS = 86_400_000;
const MOST_NAMES = 50_000;
/** In the place of a service: all of the namespace that no application names. */
export const ALL_SERVICES = "";

const Holder = z.object({
  /** Absent: among all namespaces. */
  namespace: z.string().max(253).optional(),
  service: z.string().max(200),
  /** Key of an application. */
  holder: z.string().max(512),
  /** When it last had a service of the name. ms since the epoch */
  lastMs: z.number(),
});
export type NameHolder = z.infer<typeof Holder>;

const State = z.object({
  schema: z.literal(NAME_HOLDERS_SCHEMA),
  names: z.array(z.unknown()).max(MOST_NAMES),
});
/** As it is on disk and among what peers remember. */
export interface NameHoldersState {
  readonly schema: typeof NAME_HOLDERS_SCHEMA;
  readonly names: readonly NameHolder[];
}

/** Each name that can be read; undefined where it is another state. */
export function readNameHolders(value: unknown): NameHoldersState | undefined {
  const { data } = State.safeParse(value);
  return data && { ...data, names: data.names.flatMap((each) => Holder.safeParse(each).data ?? []) };
}

/** A name, and the keys of all applications that have a service of it now. */
export interface ClaimedName {
  readonly namespace?: string | undefined;
  readonly service: string;
  readonly claimants: readonly string[];
}

/** Who had which name of a service first. */
export class NameHolders {
  #holders = new Map<string, NameHolder>();

  /** @param namespace undefined: among all namespaces */
  of(namespace: string | undefined, service: string): string | undefined {
    const held =
      this.#holders.get(keyOf(namespace, service)) ??
      (namespace === undefined ? undefined : this.#holders.get(keyOf(namespace, ALL_SERVICES)));
    return held?.holder;
  }

  /** Takes what was known before this process, for names that nobody has had in it. */
  adopt({ names }: NameHoldersState, nowMs: number): void {
    for (const held of names) {
      const key = keyOf(held.namespace, held.service);
      if (!this.#holders.has(key)) this.#holders.set(key, { ...held, lastMs: Math.min(held.lastMs, nowMs) });
    }
  }

  /**
   * Notes who has which name now: what one alone has is its own until it has not had it for a day.
   * @param names all that there are
   * @returns whether a name has another holder than before
   */
  see(names: Iterable<ClaimedName>, nowMs: number): boolean {
    let isOther = false;
    for (const { claimants, namespace, service } of names) {
      const key = keyOf(namespace, service);
      const held = this.#holders.get(key);
      const isKept = held !== undefined && nowMs - held.lastMs < KEPT_MS;
      const [only, ...others] = claimants;
      const holder = isKept || others.length > 0 ? held?.holder : only;
      if (holder === undefined) continue;
      isOther ||= holder !== held?.holder;
      const lastMs = claimants.includes(holder) ? nowMs : (held?.lastMs ?? nowMs);
      this.#holders.set(key, { ...(namespace !== undefined && { namespace }), service, holder, lastMs });
    }
    for (const [key, { lastMs }] of this.#holders) if (nowMs - lastMs >= KEPT_MS) this.#holders.delete(key);
    return isOther;
  }

  state(): NameHoldersState {
    return { schema: NAME_HOLDERS_SCHEMA, names: [...this.#holders.values()].slice(0, MOST_NAMES) };
  }
}

const keyOf = (namespace: string | undefined, service: string): string => `${namespace ?? ""}\n${service}`;
