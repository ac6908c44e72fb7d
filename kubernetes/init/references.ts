import type { FoundContainer } from "./found.ts";

/** One workload that is told where another one is. */
export interface Reference {
  /** Uid of the workload that is told. */
  readonly from: string;
  /** The variable that says it; empty for an argument. */
  readonly variable: string;
}

/** Who is told the address of which Service, by variables and arguments of containers. */
export interface References {
  readonly to: (service: string) => readonly Reference[];
}

const MAX_TEXT = 4_000;

/**
 * Finds the names of Services in what containers are started with: `http://cart:8080`, `cart.shop.svc:80`, `cart:8080`, `cart`.
 * @param services name of each Service, with the workloads that it leads to: whoever names its own Service calls nobody
 */
export function referencesAmong(
  workloads: readonly { readonly uid: string; readonly templates: readonly FoundContainer[] }[],
  services: ReadonlyMap<string, ReadonlySet<string>>,
): References {
  const byService = new Map<string, Reference[]>();
  const add = (from: string, variable: string, text: string): void => {
    for (const service of new Set(hostsIn(text))) {
      if (services.get(service)?.has(from) !== false) continue;
      const all = byService.get(service) ?? [];
      all.push({ from, variable });
      byService.set(service, all);
    }
  };
  for (const { templates, uid } of workloads) {
    for (const { args, command, env } of templates) {
      for (const { name, value } of env) add(uid, name, value ?? "");
      for (const text of [...command, ...args]) add(uid, "", text);
    }
  }
  return { to: (service) => byService.get(service) ?? [] };
}

/** The first labels of everything in a text that could be the name of a host. */
function hostsIn(text: string): string[] {
  return text
    .slice(0, MAX_TEXT)
    .split(/[^A-Za-z0-9.-]/)
    .map((token) => token.split(".", 1)[0] ?? "");
}
