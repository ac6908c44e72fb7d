import type { SharedName } from "@tradewind/core/contract/application-list.ts";

const MOST_NAMES = 5;

export interface NameProblem {
  readonly reason: "NameTaken" | "NameShared";
  readonly message: string;
}

/** What an application is told whose services have names that another one's have too; undefined where it had all of them first. */
export function nameProblem(sharedNames: readonly SharedName[] = []): NameProblem | undefined {
  const named = (outcome: SharedName["outcome"]): string[] =>
    sharedNames.filter((each) => each.outcome === outcome).map(({ service }) => service);
  const [taken, shared] = [named("yields"), named("shared")];
  const services = taken.length > 0 ? taken : shared;
  if (services.length === 0) return undefined;
  const rest = services.length - MOST_NAMES;
  const list = `${services.slice(0, MOST_NAMES).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
  const remedy = "have spans state k8s.namespace.name, or give the service another name";
  return taken.length > 0
    ? { reason: "NameTaken", message: `another application had the name first of ${list}: ${remedy}` }
    : { reason: "NameShared", message: `another application has the name, too, of ${list}: ${remedy}` };
}
