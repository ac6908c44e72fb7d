import type { ScaledObject } from "../objects/autoscaler.ts";
import { withTemplates } from "../objects/scalable.ts";
import type { TemplateContainer } from "../objects/scalable.ts";
import { mainContainer } from "../workloads/main-container.ts";
import { isVersionOf, NAME_LABELS, serviceNames } from "../workloads/service-name.ts";
import type { NameSource } from "../workloads/service-name.ts";
import { exposuresOf, leadsTo } from "./entry.ts";
import type { EntryCandidate } from "./entry.ts";
import type { Found, FoundAutoscaler, FoundService, FoundWorkload, PassedOver } from "./found.ts";
import { knownImage } from "./known-software.ts";
import { natureOf } from "./nature.ts";
import type { Nature } from "./nature.ts";
import { ownScaler } from "./own-scaler.ts";
import { referencesAmong } from "./references.ts";
import type { References } from "./references.ts";

/** A workload that Tradewind can take care of. */
export interface SurveyedWorkload extends EntryCandidate {
  readonly nameSource: NameSource;
  /** Why it is taken for a service. */
  readonly reasons: readonly string[];
  /** The container that is sized; absent for a template without containers. */
  readonly container: TemplateContainer | undefined;
  /** An HPA that no ScaledObject made. */
  readonly autoscaler: FoundAutoscaler | undefined;
  readonly scaledObject: ScaledObject | undefined;
  readonly vpa: string | undefined;
  /** Names of all that scale it, where more than one does. */
  readonly rivals: readonly string[];
  /** The service of which it is another version: traces have one name for all of them, so it keeps its pods. */
  readonly versionOf: string | undefined;
}

/** What a person said of single workloads, by name. */
export interface Choice {
  readonly exclude: readonly string[];
  /** Taken although there is a reason to leave them out. */
  readonly include: readonly string[];
  /** By its service's or its workload's name. */
  readonly entry: string | undefined;
}

export interface LeftOut {
  readonly name: string;
  readonly class: Nature["class"] | "controlled" | "excluded" | "worker" | "stopped" | "namesake";
  readonly reason: string;
  readonly byNameAlone: boolean;
}

export interface Survey {
  readonly workloads: readonly SurveyedWorkload[];
  /** Workloads that are better left alone, with the reason. */
  readonly leftOut: readonly LeftOut[];
  /** Kinds that are not read, and whether users reach them. */
  readonly others: readonly (PassedOver & { readonly isExposed: boolean })[];
  /** HPAs and ScaledObjects whose workload is not there. */
  readonly aimless: readonly string[];
}

/** Sorts what was found into what Tradewind can take care of and what it should leave alone. */
export function survey(read: Found, choice: Choice): Survey {
  const all = withTemplates(read.workloads);
  const found: Found = {
    ...read,
    workloads: all,
    services: read.services.map((each) => withPortNames(each, all)),
  };
  const sorted = [...found.workloads].sort((a, b) => (a.name < b.name ? -1 : 1));
  const references = referencesIn(found);
  const names = serviceNames(sorted, () => undefined);
  const leftOut: LeftOut[] = [];
  const loaders = new Set<string>();
  const taken: { workload: FoundWorkload; reasons: readonly string[] }[] = [];
  for (const workload of sorted) {
    const nature = natureIn(workload, found, references);
    if (nature.class === "load") loaders.add(workload.uid);
    const asked = [workload.name, names.get(workload.uid)?.service];
    const reason = whyNot(workload, nature, found, choice, asked.includes(choice.entry));
    if (reason === undefined) taken.push({ workload, reasons: nature.reasons });
    else leftOut.push({ name: workload.name, ...reason });
  }
  const { named, namesakes } = withNames(taken, names);
  const workloads = named.map(({ nameSource, reasons, service, versionOf, workload }): SurveyedWorkload => {
    return Object.assign({}, scalersOf(workload, found), {
      workload,
      service,
      nameSource,
      reasons,
      versionOf,
      container: sizedContainer(workload),
      vpa: found.vpas.find((each) => isTarget(workload, each))?.name,
      exposures: exposuresOf(workload, found),
      isLoaded: servicesOf(workload, found).some((each) =>
        references.to(each.name).some(({ from }) => loaders.has(from)),
      ),
    });
  });
  const others = found.passedOver.map((each) => ({
    ...each,
    isExposed: exposuresOf(each, found).length > 0,
  }));
  return { workloads, leftOut: [...leftOut, ...namesakes], others, aimless: aimlessIn(found) };
}

type Reason = Omit<LeftOut, "name">;

function whyNot(
  workload: FoundWorkload,
  { byNameAlone, class: kind, reasons }: Nature,
  found: Found,
  { exclude, include }: Choice,
  isEntry: boolean,
): Reason | undefined {
  const because = (what: LeftOut["class"], reason: string, byName = false): Reason => ({
    class: what,
    reason,
    byNameAlone: byName,
  });
  if (exclude.includes(workload.name)) return because("excluded", "you excluded it");
  if (isEntry || include.includes(workload.name)) return undefined;
  const said = reasons.slice(0, 3).join("; ");
  if (kind === "stateful") {
    return because(kind, `it keeps state: ${said}. A second pod of it is not more of the same`, byNameAlone);
  }
  if (kind === "infrastructure") return because(kind, `it is not part of what users ask for: ${said}`);
  const { owner } = workload;
  if (owner !== undefined && owner.kind !== FLAGGER)
    return because("controlled", `${owner.kind} '${owner.name}' made it and sets back what others change`);
  const { autoscaler, scaledObject } = scalersOf(workload, found);
  const isExposed = exposuresOf(workload, found).length > 0;
  const scaler = ownScaler({ autoscaler, scaledObject, isCalled: kind === "service", isExposed });
  if (scaler !== undefined) return because("worker", `it keeps what scales it: ${scaler}`);
  if (workload.replicasWanted === 0) return because("stopped", "it has no replicas");
  if (kind === "load") return because(kind, `it makes load: ${said}`);
  return kind === "uncalled" ? because(kind, `${said}. More of it would answer nothing`) : undefined;
}

/** It makes the Deployment that serves, and leaves its replicas to an autoscaler. */
const FLAGGER = "Canary";

/** Ports by number with the names that containers give them. */
function withPortNames(service: FoundService, workloads: readonly FoundWorkload[]): FoundService {
  const declared = workloads
    .filter(({ podLabels }) => leadsTo(service, podLabels))
    .flatMap(({ templates }) => templates.flatMap(({ ports }) => ports));
  return {
    ...service,
    ports: service.ports.map((port) => {
      const own = declared.find(({ containerPort }) => containerPort === port.target);
      return { ...port, targetName: own?.name ?? port.targetName };
    }),
  };
}

const isTarget = (
  { kind, name }: FoundWorkload,
  { target }: { readonly target?: { readonly kind: string; readonly name: string } | undefined },
): boolean => target?.kind === kind && target.name === name;

const servicesOf = ({ podLabels }: FoundWorkload, { services }: Found) =>
  services.filter((service) => leadsTo(service, podLabels));

function natureIn(workload: FoundWorkload, found: Found, references: References): Nature {
  const daprPort = workload.podAnnotations["dapr.io/app-port"];
  const isCanary = found.canaries.has(`${workload.kind}/${workload.name}`);
  return natureOf(workload, {
    services: servicesOf(workload, found),
    servicesKnown: found.services.length > 0,
    references,
    claims: found.claims,
    calledBy:
      daprPort === undefined
        ? isCanary
          ? "Flagger makes Services for it"
          : undefined
        : `Dapr calls it (dapr.io/app-port ${daprPort})`,
  });
}

function referencesIn(found: Found): References {
  const leading = new Map<string, ReadonlySet<string>>();
  for (const service of found.services) {
    const behind = found.workloads.filter(({ podLabels }) => leadsTo(service, podLabels));
    leading.set(service.name, new Set(behind.map(({ uid }) => uid)));
  }
  return referencesAmong(found.workloads, leading);
}

/** The HPA and the ScaledObject of a workload, and the names of all where there are several. */
function scalersOf(
  workload: FoundWorkload,
  { autoscalers, scaledObjects }: Found,
): Pick<SurveyedWorkload, "autoscaler" | "scaledObject" | "rivals"> {
  const own = autoscalers.filter((each) => isTarget(workload, each) && each.scaledObject === undefined);
  const ofKeda = scaledObjects.filter((each) => isTarget(workload, each));
  const rivals = [
    ...own.map(({ name }) => `HPA '${name}'`),
    ...ofKeda.map(({ name }) => `ScaledObject '${name}'`),
  ];
  return { autoscaler: own[0], scaledObject: ofKeda[0], rivals: rivals.length > 1 ? rivals : [] };
}

function sizedContainer(workload: FoundWorkload): TemplateContainer | undefined {
  const { containers, name, podAnnotations, templates } = workload;
  const withRole = containers.map((each) => ({
    ...each,
    isSidecar:
      knownImage(templates.find((template) => template.name === each.name)?.image ?? "")?.class === "sidecar",
  }));
  const defaultContainer = podAnnotations["kubectl.kubernetes.io/default-container"];
  return mainContainer({ containers: withRole, defaultContainer }, name) ?? containers[0];
}

function aimlessIn({ autoscalers, passedOver, scaledObjects, workloads }: Found): string[] {
  const isThere = ({ kind, name }: { readonly kind: string; readonly name: string }): boolean =>
    [...workloads, ...passedOver].some((each) => each.kind === kind && each.name === name);
  return [
    ...autoscalers.map((each) => ({ ...each, what: "HPA" })),
    ...scaledObjects.map((each) => ({ ...each, what: "ScaledObject" })),
  ]
    .filter(({ target }) => !isThere(target))
    .map(
      ({ name, target, what }) =>
        `${what} '${name}' scales the ${target.kind} '${target.name}', which is not there`,
    );
}

interface Taken {
  readonly workload: FoundWorkload;
  readonly reasons: readonly string[];
}
type Named = Taken & Pick<SurveyedWorkload, "service" | "nameSource" | "versionOf">;

/**
 * Gives each workload a name of its own. Several workloads of one name are versions of one service, which traces do not tell
 * apart: the one with the most pods has the name, and the others stand beside it under their own.
 */
function withNames(
  taken: readonly Taken[],
  names: ReturnType<typeof serviceNames>,
): { named: Named[]; namesakes: LeftOut[] } {
  const groups = new Map<string, (Taken & { readonly nameSource: NameSource })[]>();
  for (const each of taken) {
    const { service, source } = names.get(each.workload.uid) ?? {
      service: each.workload.name,
      source: "workload",
    };
    const version = source === "workload" ? versionedName(each.workload) : undefined;
    const group = groups.get(version ?? service) ?? [];
    group.push({ ...each, nameSource: version === undefined ? source : "label" });
    groups.set(version ?? service, group);
  }
  const named: Named[] = [];
  const namesakes: LeftOut[] = [];
  const used = new Set(groups.keys());
  for (const [service, group] of groups) {
    const [first, ...versions] = group.sort((a, b) => b.workload.replicasWanted - a.workload.replicasWanted);
    if (first !== undefined) named.push({ ...first, service, versionOf: undefined });
    for (const version of versions) {
      const { name } = version.workload;
      if (used.has(name)) {
        const reason = `its name in traces, '${service}', and its own are other workloads' too`;
        namesakes.push({ name, class: "namesake", reason, byNameAlone: false });
      } else named.push({ ...version, service: name, nameSource: "workload", versionOf: service });
      used.add(name);
    }
  }
  named.sort((a, b) => (a.workload.name < b.workload.name ? -1 : 1));
  return { named, namesakes };
}

/** `reviews` for `reviews-v2` with the label `app: reviews`. */
function versionedName({ name, podLabels }: FoundWorkload): string | undefined {
  return NAME_LABELS.map((label) => podLabels[label]).find(
    (value) => value !== undefined && isVersionOf(name, value, podLabels),
  );
}
