import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { meshlessName } from "./mesh-name.ts";
import { ALL_SERVICES } from "./name-holders.ts";
import type { ClaimedName } from "./name-holders.ts";

/** Whose a service is: of one application by its key, or of none, and then why. */
export type Claim =
  /** `rivals` have a service of the name too, by their keys. */
  | { readonly owner: string; readonly rivals: readonly string[] }
  /** `several` of them have it, by their keys, and none had it first; with an empty list none has. */
  | { readonly owner?: undefined; readonly several: readonly string[] };

type Claimant = Pick<Application, "entries" | "name" | "namespace" | "services">;

export interface ClaimFacts {
  /** Whether a workload of the namespace is known by the name of the service. */
  readonly runs: (namespace: string, service: string) => boolean;
  /** The application that had the name first, by its key. @param namespace undefined: among all namespaces */
  readonly holder: (namespace: string | undefined, service: string) => string | undefined;
}

const NOBODY: Claim = { several: [] };

/**
 * Whose services are, among several applications. An application that is alone in its namespace has all services there. Of
 * several in one namespace each has those that it names, as its entry or in `services`. A service whose namespace is not known is
 * the only one's that names it or that runs it. Of two that have one name it stays with the one that had it first. Where that is not known,
 * spans go to both, and in one namespace the first by name decides.
 */
export class Claims {
  /** Keys of applications, in order. */
  readonly #byNamespace = new Map<string, readonly string[]>();
  readonly #named = new Map<string, ReadonlySet<string>>();
  /** What any application of a namespace names. */
  readonly #namedIn = new Map<string, Set<string>>();
  readonly #facts: ClaimFacts;

  constructor(applications: readonly Claimant[], facts: ClaimFacts) {
    this.#facts = facts;
    for (const application of applications) {
      const { entries, namespace, services } = application;
      const key = applicationKey(application);
      const names = [...entries, ...services.map(({ name }) => name)];
      this.#byNamespace.set(namespace, [...(this.#byNamespace.get(namespace) ?? []), key].sort());
      this.#named.set(key, new Set(names));
      this.#namedIn.set(namespace, new Set([...(this.#namedIn.get(namespace) ?? []), ...names]));
    }
  }

  /** @param namespace undefined where it is not known */
  of(namespace: string | undefined, service: string): Claim {
    const name = namespace === undefined ? service : meshlessName(service, namespace);
    const claimants = this.claimants(namespace, name);
    const [first, ...others] = claimants;
    if (first === undefined) return NOBODY;
    if (others.length === 0) return { owner: first, rivals: [] };
    const holder = this.#facts.holder(namespace, name);
    if (holder !== undefined && claimants.includes(holder)) return ownedBy(holder, claimants);
    if (namespace === undefined) return { several: claimants };
    return this.#names(first, name) ? ownedBy(first, claimants) : NOBODY;
  }

  /** Keys of the applications that may have the service. @param namespace as {@link of} */
  claimants(namespace: string | undefined, service: string): readonly string[] {
    if (namespace !== undefined) return this.#claimantsIn(namespace, service);
    return [...this.#namedIn].flatMap(([each, named]) => {
      const name = meshlessName(service, each);
      const isThere = named.has(name) || this.#facts.runs(each, name);
      return (isThere ? this.of(each, name).owner : undefined) ?? [];
    });
  }

  /**
   * Every name that an application has, in its namespace and among all, with all that may have it.
   * @param runningIn services of the workloads of a namespace
   */
  *names(runningIn: (namespace: string) => Iterable<string>): Generator<ClaimedName, void, void> {
    const anywhere = new Set<string>();
    for (const [namespace, here] of this.#byNamespace) {
      const services = new Set([...(this.#namedIn.get(namespace) ?? []), ...runningIn(namespace)]);
      for (const service of services) anywhere.add(service);
      // One that is alone has them all: what is said of each would be the same.
      for (const service of here.length === 1 ? [ALL_SERVICES] : services)
        yield { namespace, service, claimants: this.#claimantsIn(namespace, service) };
    }
    for (const service of anywhere) yield { service, claimants: this.claimants(undefined, service) };
  }

  #claimantsIn(namespace: string, service: string): readonly string[] {
    const here = this.#byNamespace.get(namespace) ?? [];
    const naming = here.length > 1 ? here.filter((key) => this.#names(key, service)) : [];
    return naming.length > 0 ? naming : here;
  }

  #names(key: string, service: string): boolean {
    return this.#named.get(key)?.has(service) === true;
  }
}

const ownedBy = (owner: string, claimants: readonly string[]): Claim => ({
  owner,
  rivals: claimants.filter((key) => key !== owner),
});
