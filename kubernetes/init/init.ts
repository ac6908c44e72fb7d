import { DEFAULT_PERCENTILE } from "@tradewind/core/contract/application.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { pausedInWords, recommendationTriggers } from "../workloads/recommendation-triggers.ts";
import type { Found } from "./found.ts";
import { guessEntry } from "./entry.ts";
import { readBack } from "./read-back.ts";
import type { InitFile } from "./read-back.ts";
import { sloOf } from "./slo.ts";
import type { LatencySlo } from "./slo.ts";
import { survey } from "./survey.ts";
import type { Choice, Survey, SurveyedWorkload } from "./survey.ts";
import { applicationYaml } from "./write-application.ts";
import { burnRatesYaml } from "./write-burn-rates.ts";
import { scaledObjectYaml, tradewindTrigger } from "./write-scaled-object.ts";
import type { TriggerTarget } from "./write-scaled-object.ts";
import { vpaYaml } from "./write-vpa.ts";

export interface InitOptions extends Choice {
  readonly name: string;
  /** Whether a person chose the name: then triggers say it too. */
  readonly nameGiven: boolean;
  readonly namespace: string;
  /** Undefined where nobody said: a number is put in, with the request to change it. */
  readonly objectiveMilliseconds: number | undefined;
  /** Undefined for the default, 0.95. */
  readonly percentile?: number | undefined;
  readonly scalerAddress: string;
  readonly vpa: boolean;
  /** Sizes of running pods move once the mode is act. */
  readonly resize: boolean;
  /** Write Prometheus rules of burn rates, too. */
  readonly burnRates?: boolean | undefined;
  /** A person has accepted that most workloads are left out for their names. */
  readonly accept: boolean;
}

export interface InitResult {
  /** Name of the service that users call, and why this one; empty where it was named. */
  readonly entry: string;
  readonly why: string;
  /** Whose latency the objective is, where one was found and nobody gave another. */
  readonly slo: LatencySlo | undefined;
  readonly surveyed: Survey;
  readonly files: readonly InitFile[];
  /** What a person should know besides, a line each. */
  readonly notes: readonly string[];
}

/** Why nothing is written, with what a person should know before. */
export class InitRefusal extends TradewindError {
  readonly notes: readonly string[];

  constructor(message: string, notes: readonly string[]) {
    super("invalid-input", message);
    this.notes = notes;
  }
}

const DEFAULT_MILLISECONDS = 250;

/**
 * Writes what a namespace needs from Tradewind. Pure: the same findings give the same text.
 * @throws InitRefusal when there is nothing to take care of, the entry cannot be told, or a person must be asked
 */
export function initialise(found: Found, options: InitOptions): InitResult {
  const surveyed = survey(found, options);
  const { workloads } = surveyed;
  const refuse = (message: string): InitRefusal => new InitRefusal(message, surroundingNotes(surveyed));
  if (workloads.length === 0) {
    throw refuse(
      `there is no Deployment, StatefulSet or Rollout to take care of in namespace '${options.namespace}'${leftOutWords(surveyed)}`,
    );
  }
  const doubtful = surveyed.leftOut.filter(({ byNameAlone }) => byNameAlone);
  if (!options.accept && 2 * doubtful.length > workloads.length + surveyed.leftOut.length) {
    const names = doubtful.map(({ name }) => name).join(",");
    throw refuse(
      `${doubtful.length} of ${workloads.length + surveyed.leftOut.length} workloads would be left out for nothing but a name: --accept leaves them out, --include ${names} takes them`,
    );
  }
  const guess = guessEntry(
    workloads.filter(({ versionOf }) => versionOf === undefined),
    options.entry,
    [...surveyed.others, ...found.unread.map(() => ({ isExposed: false }))],
  );
  if (guess.entry === undefined) {
    const said =
      options.entry === undefined
        ? "which service users call cannot be told"
        : `there is no '${options.entry}'`;
    throw refuse(`${said}; name it with --entry: ${guess.candidates.join(", ")}`);
  }
  const { name, namespace, resize, vpa } = options;
  const slo =
    options.objectiveMilliseconds === undefined ? sloOf(found.slos, guess.entry.service) : undefined;
  const objectiveMilliseconds = options.objectiveMilliseconds ?? slo?.milliseconds;
  const percentile = slo?.percentile ?? options.percentile;
  const target = triggerTarget(options);
  const application = applicationYaml({
    name,
    namespace,
    entry: guess.entry,
    why: guess.why,
    milliseconds: objectiveMilliseconds ?? DEFAULT_MILLISECONDS,
    objectiveGiven: objectiveMilliseconds !== undefined,
    percentile,
    resize,
    workloads,
  });
  const own = workloads.filter(({ versionOf }) => versionOf === undefined);
  const scaled = own.filter(({ scaledObject }) => scaledObject === undefined);
  const sized = vpa ? own.filter((each) => each.vpa === undefined) : [];
  const files = [
    { name: "application.yaml", yaml: application },
    ...fileOf("scaled-objects.yaml", scaled, (each) => scaledObjectYaml(each, target)),
    ...fileOf("vertical-pod-autoscalers.yaml", sized, vpaYaml),
    ...(options.burnRates === true
      ? [
          {
            name: "burn-rate-rules.yaml",
            yaml: burnRatesYaml({ name, namespace, percentile: percentile ?? DEFAULT_PERCENTILE }),
          },
        ]
      : []),
  ];
  readBack(files);
  return {
    entry: guess.entry.service,
    why: guess.why,
    slo,
    surveyed,
    files,
    notes: [
      ...surroundingNotes(surveyed),
      ...(objectiveMilliseconds === undefined || slo !== undefined ? sloNotes(found.slos, slo) : []),
      ...workloadNotes(surveyed, options),
    ],
  };
}

/** Which of the objectives that were found counts, or that none does. */
function sloNotes(slos: readonly LatencySlo[], slo: LatencySlo | undefined): string[] {
  if (slo !== undefined) return [`the objective is that of ${slo.from}; --objective gives another`];
  const names = slos.map(({ from, milliseconds }) => `${from} (${milliseconds} ms)`).join(", ");
  return slos.length === 0
    ? []
    : [`which of these objectives is the entry's cannot be told: ${names}; give one with --objective`];
}

const fileOf = (
  name: string,
  all: readonly SurveyedWorkload[],
  write: (each: SurveyedWorkload) => string,
): InitFile[] => (all.length === 0 ? [] : [{ name, yaml: all.map((each) => write(each)).join("---\n") }]);

const triggerTarget = ({ name, nameGiven, scalerAddress }: InitOptions): TriggerTarget => ({
  scalerAddress,
  application: nameGiven ? name : undefined,
});

/** What is not taken, and why: a person needs it before any error. */
function surroundingNotes({ aimless, leftOut, others, workloads }: Survey): string[] {
  const all = workloads.length + leftOut.length;
  return [
    ...(2 * leftOut.length > all
      ? [
          `more than half is left out, ${leftOut.length} of ${all} workloads: read why, --include NAMES takes them`,
        ]
      : []),
    ...leftOut.map(({ name, reason }) => `left out: ${name}: ${reason}`),
    ...others.map(
      ({ isExposed, kind, name }) =>
        `left out: ${name}: Tradewind does not read the kind ${kind}${isExposed ? ", though users reach it" : ""}`,
    ),
    ...aimless,
  ];
}

function workloadNotes({ workloads }: Survey, options: InitOptions): string[] {
  const target = triggerTarget(options);
  return [
    ...workloads.flatMap((each) => existingScaledObject(each, target)),
    ...workloads.flatMap((each) => takenOver(each)),
    ...workloads.flatMap(({ rivals, workload }) =>
      rivals.length === 0
        ? []
        : [`${workload.name} is scaled by ${rivals.join(" and ")}: they fight, so delete all but one`],
    ),
    ...workloads.flatMap(({ versionOf, workload }) =>
      versionOf === undefined
        ? []
        : [
            `${workload.name} is another version of '${versionOf}': traces do not tell them apart, so it keeps ${workload.replicasWanted} pods`,
          ],
    ),
    ...workloads.flatMap(({ vpa, workload }) =>
      vpa === undefined ? [] : [`${workload.name} has the VPA '${vpa}' already; two on one workload fight`],
    ),
    ...workloads.flatMap(({ container, workload }) =>
      container?.resources.requests.cpuCores === undefined && !requestsCpuInAll(workload)
        ? [`${workload.name} has no CPU request: the scheduler does not know what a pod of it needs`]
        : [],
    ),
    ...workloads.flatMap(({ workload: { apiVersion, kind, name } }) =>
      apiVersion === undefined
        ? []
        : [
            `${name} is a ${kind} of ${apiVersion}: let Tradewind read that kind, by rbac.workloadKinds of the chart`,
          ],
    ),
    "leave spec.replicas out of the manifests of what KEDA scales: each apply would set it back",
  ];
}

/** Its pods state what all their containers request together. */
const requestsCpuInAll = ({ ofAllContainers }: SurveyedWorkload["workload"]): boolean =>
  ofAllContainers.cpuCores !== undefined;

/** What becomes of an HPA that a ScaledObject takes over: its bounds and behaviour stay, its metrics go. */
function takenOver({ autoscaler, scaledObject, versionOf, workload }: SurveyedWorkload): string[] {
  if (autoscaler === undefined || scaledObject !== undefined || versionOf !== undefined) return [];
  const { managedBy, measures, name } = autoscaler;
  return [
    `${workload.name} has the HPA '${name}', which its ScaledObject takes over: apply that once the Application's mode is act; before, nothing would scale it`,
    `${workload.name} is then scaled by latency instead of ${measures.join(" and ")}; the bounds and the behaviour of HPA '${name}' stay`,
    ...(managedBy === undefined
      ? []
      : [
          `HPA '${name}' belongs to ${managedBy}, which writes it again: take it out there when its ScaledObject is applied`,
        ]),
  ];
}

/** What to do with a ScaledObject that is there; nothing where it asks Tradewind alone. */
function existingScaledObject(
  { scaledObject, service, workload }: SurveyedWorkload,
  target: TriggerTarget,
): string[] {
  if (scaledObject === undefined) return [];
  const [asks] = recommendationTriggers([scaledObject], []);
  const has = `${workload.name} has the ScaledObject '${scaledObject.name}' already`;
  const { pause } = scaledObject;
  const paused =
    pause === undefined
      ? []
      : [`${has}, and ${pausedInWords(pause)} by ${pause.by}: recommendations are not carried out meanwhile`];
  if (asks === undefined) {
    const trigger = JSON.stringify(tradewindTrigger(service, target));
    return [
      ...paused,
      `${has}: once the Application's mode is act, put this trigger in the place of its own: ${trigger}`,
    ];
  }
  return [
    ...paused,
    ...(asks.multiplies
      ? [
          `${has} with 'metricType: Value': the HPA multiplies by the pods that run, up to the maximum; write AverageValue, or leave it out`,
        ]
      : []),
    ...(asks.otherTriggers.length === 0
      ? []
      : [`${has}, with other triggers beside Tradewind's: KEDA can lose Tradewind's there (docs/keda.md)`]),
  ];
}

function leftOutWords({ leftOut }: Survey): string {
  if (leftOut.length === 0) return "";
  return ` (left out: ${leftOut.map(({ name, reason }) => `${name}: ${reason}`).join("; ")})`.slice(0, 800);
}
