import { TradewindError } from "@tradewind/core/values/errors.ts";
import { recommendationTriggers } from "../workloads/recommendation-triggers.ts";
import type { Found } from "./found.ts";
import { guessEntry, survey } from "./survey.ts";
import type { Choice, Survey, SurveyedWorkload } from "./survey.ts";
import { applicationYaml } from "./write-application.ts";
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
  readonly scalerAddress: string;
  readonly vpa: boolean;
}

/** One YAML file. */
export interface InitFile {
  readonly name: string;
  readonly yaml: string;
}

export interface InitResult {
  readonly files: readonly InitFile[];
  /** What a person should know besides, a line each. */
  readonly notes: readonly string[];
}

const DEFAULT_MILLISECONDS = 250;

/**
 * Writes what a namespace needs from Tradewind. Pure: the same findings give the same text.
 * @throws TradewindError `invalid-input` when there is nothing to take care of, or the entry cannot be told
 */
export function initialise(found: Found, options: InitOptions): InitResult {
  const surveyed = survey(found, options);
  const { workloads } = surveyed;
  if (workloads.length === 0) {
    throw new TradewindError(
      "invalid-input",
      `there is no Deployment or StatefulSet to take care of in namespace '${options.namespace}'${leftOutWords(surveyed)}`,
    );
  }
  const guess = guessEntry(workloads, options.entry);
  if (guess.entry === undefined) {
    const said =
      options.entry === undefined
        ? "which service users call cannot be told"
        : `there is no '${options.entry}'`;
    throw new TradewindError(
      "invalid-input",
      `${said}; name it with --entry: ${guess.candidates.join(", ")}`,
    );
  }
  const { name, namespace, objectiveMilliseconds, vpa } = options;
  const target = triggerTarget(options);
  const application = applicationYaml({
    name,
    namespace,
    entry: guess.entry,
    why: guess.why,
    milliseconds: objectiveMilliseconds ?? DEFAULT_MILLISECONDS,
    objectiveGiven: objectiveMilliseconds !== undefined,
    workloads,
  });
  const scaled = workloads.filter(({ scaledObject }) => scaledObject === undefined);
  const sized = vpa ? workloads.filter((each) => each.vpa === undefined) : [];
  return {
    files: [
      { name: "application.yaml", yaml: application },
      ...(scaled.length === 0
        ? []
        : [
            {
              name: "scaled-objects.yaml",
              yaml: joined(scaled, (each) => scaledObjectYaml(each, target)),
            },
          ]),
      ...(sized.length === 0
        ? []
        : [{ name: "vertical-pod-autoscalers.yaml", yaml: joined(sized, (each) => vpaYaml(each)) }]),
    ],
    notes: notesOf(surveyed, options),
  };
}

const joined = (all: readonly SurveyedWorkload[], write: (each: SurveyedWorkload) => string): string =>
  all.map((each) => write(each)).join("---\n");

const triggerTarget = ({ name, nameGiven, scalerAddress }: InitOptions): TriggerTarget => ({
  scalerAddress,
  application: nameGiven ? name : undefined,
});

function notesOf({ leftOut, workloads }: Survey, options: InitOptions): string[] {
  const target = triggerTarget(options);
  return [
    ...leftOut.map(({ name, reason }) => `left out: ${name}: ${reason}`),
    ...workloads.flatMap((each) => existingScaledObject(each, target)),
    ...workloads.flatMap(({ autoscaler, scaledObject, workload }) =>
      autoscaler === undefined || scaledObject !== undefined
        ? []
        : [
            `${workload.name} has the HPA '${autoscaler.name}', which its ScaledObject takes over: apply that once the Application's mode is act; before, nothing would scale it`,
          ],
    ),
    ...workloads.flatMap(({ vpa, workload }) =>
      vpa === undefined ? [] : [`${workload.name} has the VPA '${vpa}' already; two on one workload fight`],
    ),
    ...workloads.flatMap(({ container, workload }) =>
      container?.resources.requests.cpuCores === undefined
        ? [`${workload.name} has no CPU request: the scheduler does not know what a pod of it needs`]
        : [],
    ),
    "leave spec.replicas out of the manifests of what KEDA scales: each apply would set it back",
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
  if (asks === undefined) {
    const trigger = JSON.stringify(tradewindTrigger(service, target));
    return [
      `${has}: once the Application's mode is act, put this trigger in the place of its own: ${trigger}`,
    ];
  }
  return asks.otherTriggers.length === 0
    ? []
    : [`${has}, with other triggers beside Tradewind's: KEDA can lose Tradewind's there (docs/keda.md)`];
}

function leftOutWords({ leftOut }: Survey): string {
  if (leftOut.length === 0) return "";
  return ` (left out: ${leftOut.map(({ name, reason }) => `${name}: ${reason}`).join("; ")})`.slice(0, 800);
}
