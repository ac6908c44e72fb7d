import type { Application } from "@tradewind/core/contract/application.ts";
import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { PlanRoom } from "@tradewind/core/contract/plan.ts";
import type { RoomShare } from "@tradewind/core/contract/recommendation.ts";
import type { QuotaAmounts } from "@tradewind/core/contract/workload.ts";
import type { ServiceNeed } from "../../keep/book-entry.ts";
import { shareRoom } from "./share-room.ts";
import type { RoomClaim } from "./share-room.ts";

type FindApplication = (namespace: string, name: string) => Application | undefined;

/** What one pod of each service of a namespace takes of its quotas, as the newest plans of its applications say. */
export class PodSizes {
  readonly #byNamespace = new Map<string, Map<string, QuotaAmounts>>();

  note(namespace: string, pods: PlanRoom["pods"]): void {
    const known = this.#byNamespace.get(namespace) ?? new Map<string, QuotaAmounts>();
    for (const { service, takes } of pods) known.set(service, takes);
    this.#byNamespace.set(namespace, known);
  }

  of(namespace: string, service: string): QuotaAmounts | undefined {
    return this.#byNamespace.get(namespace)?.get(service);
  }
}

/**
 * What the quotas of a namespace allow each service that is to grow, and those that grow beside it. Decisions in force of other
 * applications that act count as they were before a quota cut them, so that every record names the same rivals.
 */
export function sharesOf(
  { quotas }: PlanRoom,
  needs: readonly ServiceNeed[],
  sizes: PodSizes,
  application: FindApplication,
): ReadonlyMap<string, RoomShare> {
  const priorities = new Map<string, (service: string) => number>();
  const claims = needs.flatMap((need): RoomClaim[] => {
    const { application: name, namespace, service } = need.recommendation;
    const takes = sizes.of(namespace, service);
    const { asked, running, severity } = need;
    if (takes === undefined || running === undefined || asked <= running) return [];
    const priorityOf = priorities.get(name) ?? priorityBy(application(namespace, name));
    priorities.set(name, priorityOf);
    return [{ application: name, service, priority: priorityOf(service), severity, running, asked, takes }];
  });
  return shareRoom(quotas, claims);
}

function priorityBy(application: Application | undefined): (service: string) => number {
  if (application === undefined) return () => 0;
  const specOf = serviceSpecs(application);
  return (service) => specOf(service).priority ?? application.priority;
}
