import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import type { Application } from "@tradewind/core/contract/application.ts";

/** Whose a service is: of one application by its key, or of none, and then why. */
export type Claim =
  | { readonly owner: string }
  /** `several` of them have it, by their keys; with an empty list none has. */
  | { readonly owner?: undefined; readonly several: readonly string[] };

type Claimant = Pick<Application, "entry" | "name" | "namespace" | "services">;

const NOBODY: Claim = { several: [] };

/**
 * Whose services are, among several applications. An application that is alone in its namespace has all services there. Of
 * several in one namespace each has those that it names, as its entry or in `services`. A service whose namespace is not known is
 * the only one's that names it or that runs it. What two have nobody gets: it is not guessed.
 */
export class Claims {
  readonly #byNamespace = new Map<string, Claimant[]>();
  readonly #named = new Map<string, ReadonlySet<string>>();
  readonly #runs: (namespace: string, service: string) => boolean;

  /** @param runs whether a workload of the namespace is known by the name of the service */
  constructor(applications: readonly Claimant[], runs: (namespace: string, service: string) => boolean) {
    this.#runs = runs;
    for (const application of applications) {
      const { entry, namespace, services } = application;
      const others = this.#byNamespace.get(namespace) ?? [];
      this.#byNamespace.set(namespace, [...others, application]);
      this.#named.set(applicationKey(application), new Set([entry, ...services.map(({ name }) => name)]));
    }
  }

  /** @param namespace undefined where it is not known */
  of(namespace: string | undefined, service: string): Claim {
    if (namespace === undefined) return this.#qualified(service) ?? this.#anywhere(service);
    const here = this.#byNamespace.get(namespace) ?? [];
    const [only, ...others] = here;
    if (only !== undefined && others.length === 0) return { owner: applicationKey(only) };
    return one(here.filter((each) => this.#names(each, service)));
  }

  /** Services that several applications of one namespace name, by the keys of those. */
  contested(): ReadonlyMap<string, readonly string[]> {
    const found = new Map<string, string[]>();
    for (const here of this.#byNamespace.values()) {
      for (const application of here) {
        for (const service of this.#named.get(applicationKey(application)) ?? []) {
          const rivals = here.filter((each) => each !== application && this.#names(each, service));
          if (rivals.length === 0) continue;
          const problem = `service '${service}' is named by ${rivals.map(quoted).join(", ")} too, so none of them plans it: name it in one only`;
          found.set(applicationKey(application), [
            ...(found.get(applicationKey(application)) ?? []),
            problem,
          ]);
        }
      }
    }
    return found;
  }

  /** NAME.NAMESPACE, as Istio calls services: of the application that has it there. */
  #qualified(service: string): Claim | undefined {
    const [name = "", namespace = "", ...domain] = service.split(".", 6);
    if (!this.#byNamespace.has(namespace) || !["", "svc", "svc.cluster.local"].includes(domain.join(".")))
      return undefined;
    const claim = this.of(namespace, name);
    return claim.owner === undefined ? undefined : claim;
  }

  #anywhere(service: string): Claim {
    const found = [...this.#byNamespace].flatMap(([namespace, here]) => {
      const named = here.filter((each) => this.#names(each, service));
      const isAlone = here.length === 1 && this.#runs(namespace, service);
      return named.length > 0 ? named : isAlone ? here : [];
    });
    return one(found);
  }

  #names(application: Claimant, service: string): boolean {
    return this.#named.get(applicationKey(application))?.has(service) === true;
  }
}

function one(found: readonly Claimant[]): Claim {
  const [only, ...others] = found;
  if (only === undefined) return NOBODY;
  if (others.length === 0) return { owner: applicationKey(only) };
  return { several: found.map(applicationKey) };
}

const quoted = (application: Claimant): string => `application '${applicationKey(application)}'`;
