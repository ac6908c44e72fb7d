import type { Application, ServiceSpec } from "@tradewind/core/contract/application.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { Plan, PlanRoom } from "@tradewind/core/contract/plan.ts";
import type { RoomShare } from "@tradewind/core/contract/recommendation.ts";
import type { QuotaAmounts } from "@tradewind/core/contract/workload.ts";
import type { PodSizes } from "../quota/claims.ts";
import type { ServiceNeed } from "../../keep/book-entry.ts";
import type { Brownouts, BrownoutSight, SpareSight } from "./brownouts.ts";
import type { StarvedService } from "./choose.ts";

export interface NamespaceSight {
  readonly header: Pick<Plan, "application" | "namespace" | "plannedAtMs" | "room"> &
    Partial<Pick<Plan, "objective">>;
  /** Decisions of the plan, and those in force of other applications of the namespace that act. */
  readonly own: readonly ServiceNeed[];
  readonly others: readonly ServiceNeed[];
  /** Whether an earlier decision on a service is in force, and the plan led to none. */
  readonly isHeld: (service: string) => boolean;
  /** What quotas leave the plan's services, by service. */
  readonly shares: ReadonlyMap<string, RoomShare>;
  readonly sizes: PodSizes;
  readonly application: (namespace: string, name: string) => Application | undefined;
}

/** Takes a plan: services that act go down for each other. @returns brownouts that begin or end */
export function seeBrownouts(brownouts: Brownouts, { own, ...sightParts }: NamespaceSight): AuditEvent[] {
  const { application: name, namespace, objective } = sightParts.header;
  // Nothing was measured that anybody's need could be judged by.
  if (objective === undefined) return [];
  // Nothing was decided: whether the application acts is not known.
  if (own.length === 0) return [];
  const acting = own.filter(({ mode }) => mode === "act");
  if (acting.length > 0) return brownouts.see(brownoutSight({ ...sightParts, own: acting }));
  brownouts.forget({ namespace, name });
  return [];
}

function brownoutSight(sightParts: NamespaceSight): BrownoutSight {
  const { application, header, isHeld, others, own, sizes } = sightParts;
  const { application: name, namespace, plannedAtMs: nowMs } = header;
  const specOf = specsBy(application);
  const severities = new Map(own.map((entry) => [entry.recommendation.service, entry.routeSeverity]));
  return {
    namespace,
    application: name,
    nowMs,
    starved: own.flatMap((entry) => starvedOf(entry, specOf(entry), sightParts) ?? []),
    spares: [...own, ...others].flatMap((entry) => spareOf(entry, specOf(entry), sizes) ?? []),
    severityOf: (service) => (severities.has(service) || isHeld(service) ? severities.get(service) : 0),
  };
}

interface Spec extends Pick<ServiceSpec, "minReplicas" | "optional"> {
  readonly priority: number;
}

function specsBy(application: NamespaceSight["application"]): (entry: ServiceNeed) => Spec | undefined {
  const specByName = new Map<string, ((service: string) => Spec) | undefined>();
  return ({ recommendation: { application: name, namespace, service } }) => {
    if (!specByName.has(name)) {
      const configuration = application(namespace, name);
      const specOf = configuration && serviceSpecs(configuration);
      specByName.set(
        name,
        specOf &&
          configuration &&
          ((each) =>
            Object.assign({}, specOf(each), { priority: specOf(each).priority ?? configuration.priority })),
      );
    }
    return specByName.get(name)?.(service);
  };
}

function starvedOf(
  { asked, recommendation, routeSeverity = 0 }: ServiceNeed,
  spec: Spec | undefined,
  { header: { room }, shares, sizes }: NamespaceSight,
): StarvedService | undefined {
  const { application, namespace, service } = recommendation;
  const takes = sizes.of(namespace, service);
  if (routeSeverity <= 1 || spec === undefined || takes === undefined) return undefined;
  const { mostReplicas = asked, quota } = shares.get(service) ?? {};
  const waiting = room?.waiting?.find((each) => each.service === service)?.pods ?? 0;
  const isCut = asked > mostReplicas && quota !== undefined;
  const pods = isCut ? asked - mostReplicas : waiting;
  if (pods <= 0) return undefined;
  const one = isCut ? ofQuotas(takes, room) : ofNodes(takes);
  const lacks = Object.fromEntries(Object.entries(one).map(([amount, each]) => [amount, pods * each]));
  const of = { application, service, priority: spec.priority, isOptional: spec.optional };
  return { ...of, lacks, one, ...(isCut && { quota }) };
}

type Amounts = Readonly<Record<string, number>>;

/** The amounts that a quota bounds. */
function ofQuotas(takes: QuotaAmounts, room: PlanRoom | undefined): Amounts {
  const bounded = new Set((room?.quotas ?? []).flatMap(({ left }) => Object.keys(left)));
  return Object.fromEntries(
    Object.entries(takes).flatMap(([amount, value]) =>
      bounded.has(amount) && value !== undefined ? [[amount, value]] : [],
    ),
  );
}

const ofNodes = ({ cpuRequestCores, memoryRequestBytes }: QuotaAmounts): Amounts => ({
  ...(cpuRequestCores !== undefined && { cpuRequestCores }),
  ...(memoryRequestBytes !== undefined && { memoryRequestBytes }),
});

function spareOf(
  { recommendation: { application, namespace, service }, routeSeverity, running }: ServiceNeed,
  spec: Spec | undefined,
  sizes: PodSizes,
): SpareSight | undefined {
  const takes = sizes.of(namespace, service);
  if (spec?.optional !== true || takes === undefined || running === undefined) return undefined;
  const { minReplicas, priority } = spec;
  // Where it is not known whether its own routes are within the objective it stays.
  const isNeeded = minReplicas > 0 && (routeSeverity === undefined || routeSeverity > 1);
  return { application, service, priority, replicas: Math.max(0, running - minReplicas), takes, isNeeded };
}
