import { z } from "zod";
import { Calendar } from "./calendar.ts";
import { ErrorBudget } from "./error-budget.ts";
import { FormerHpa } from "./former-hpa.ts";
import { APPLICATION_MODES } from "./plan.ts";
import { Prices } from "./prices.ts";
import { ObjectName, ServiceName } from "./quantity.ts";
import { ObjectiveMilliseconds, objectivesProblems, Percentile, RouteObjectives } from "./route-objective.ts";

export const DEFAULT_PERCENTILE = 0.95;

export const Objective = z.strictObject({
  percentile: Percentile.default(DEFAULT_PERCENTILE).describe(
    "Percentile of end-to-end latency, 0.95 for p95.",
  ),
  milliseconds: ObjectiveMilliseconds.describe("The latency that the percentile must stay under."),
  windowSeconds: z
    .number()
    .positive()
    .default(60)
    .describe("For how long policy queue must have seen it met before it takes a pod away."),
});
export type Objective = z.infer<typeof Objective>;

const MOST_ENTRIES = 20;

const Priority = z.number().int().min(-1_000).max(1_000);

/** What carries the replicas of most services; other kinds with `/scale` are found by discovery. */
export const WORKLOAD_KINDS = ["Deployment", "StatefulSet", "Rollout"] as const;

const KIND = /^[A-Z][A-Za-z0-9]{0,62}$/;
const API_VERSION = /^[a-z0-9][-.a-z0-9]{0,251}\/v[0-9][a-z0-9]{0,20}$/;

/** Bounds and meaning of one service. Every field but `name` has a default. */
export const ServiceSpec = z.strictObject({
  name: ServiceName.describe("service.name in traces."),
  workload: z
    .strictObject({
      apiVersion: z
        .string()
        .max(275)
        .regex(API_VERSION)
        .optional()
        .describe("Where kinds of several API groups have this name, such as apps.kruise.io/v1beta1."),
      kind: z
        .string()
        .max(63)
        .regex(KIND)
        .default("Deployment")
        .describe("Any kind of the cluster that has /scale."),
      name: ObjectName.describe("Its metadata.name."),
    })
    .optional()
    .describe("What carries the replicas; defaults to the Deployment of the same name."),
  priority: Priority.optional().describe(
    "Whose replicas come first where a quota has no room for all; defaults to the application's.",
  ),
  optional: z
    .boolean()
    .default(false)
    .describe(
      "Goes down to minReplicas as the last resort: where a service that comes before it misses the objective and a quota or the nodes have no room for it. Its callers must do without it.",
    ),
  minReplicas: z.number().int().min(0).default(1).describe("Fewest replicas that are recommended."),
  maxReplicas: z.number().int().min(1).default(100).describe("Most replicas that are recommended."),
  cpu: z
    .strictObject({
      minCores: z.number().positive().default(0.05).describe("Least CPU of a container, cores."),
      maxCores: z.number().positive().default(8).describe("Most CPU of a container, cores."),
      stepCores: z.number().positive().default(0.2).describe("CPU is a multiple of this, cores."),
    })
    .prefault({})
    .describe("CPU that each container may have."),
  memory: z
    .strictObject({
      minBytes: z.number().positive().default(64e6).describe("Least memory of a container, bytes."),
      maxBytes: z.number().positive().default(16e9).describe("Most memory of a container, bytes."),
      stepBytes: z.number().positive().default(100e6).describe("Memory is a multiple of this, bytes."),
    })
    .prefault({})
    .describe("Memory that each container may have."),
  hpa: FormerHpa.optional().describe(
    "HorizontalPodAutoscaler that scaled it before, which reports compare with; without it one at 60 % of the requested CPU.",
  ),
});
export type ServiceSpec = z.infer<typeof ServiceSpec>;

/** Fields of an application as they are written; `entry` and `objective` are enough. */
export const ApplicationFields = z.strictObject({
  name: ObjectName.default("default"),
  namespace: ObjectName.default("default"),
  entry: ServiceName.optional().describe("Service that users call."),
  entries: z
    .array(ServiceName)
    .max(MOST_ENTRIES)
    .default([])
    .describe("Services that users call, where there are several; beside or in place of `entry`."),
  objective: Objective.optional().describe(
    "Latency that users are promised, of all routes that `objectives` does not name.",
  ),
  objectives: RouteObjectives,
  errorBudget: ErrorBudget.prefault({}).describe(
    "What decisions do with the requests that may be over an objective: with p95 5 % of them.",
  ),
  services: z
    .array(ServiceSpec)
    .max(5_000)
    .default([])
    .describe("Bounds and meaning of services; those that are not listed have the defaults."),
  budget: z
    .strictObject({
      pods: z.number().int().positive().optional().describe("Most pods of all services together."),
    })
    .prefault({})
    .describe("Pods the application may use in all; without it the number follows the objective."),
  mode: z
    .enum(APPLICATION_MODES)
    .default("observe")
    .describe(
      "What is done with recommendations. observe: KEDA gets the current replica count, so nothing changes; recommend: they are also shown in events and in VPAs with updateMode Off; act: KEDA, VPAs and in-place resize carry them out.",
    ),
  resize: z
    .enum(["off", "requests", "limits"])
    .optional()
    .describe(
      "What of a container's size is moved while it runs, so that decisions count on it: nothing (the default), what it requests, or what it is limited to. Sizes that nothing moves are recommended all the same, as advice.",
    ),
  priority: Priority.default(0).describe(
    "Whose replicas come first where a quota of the namespace has no room for those of all applications.",
  ),
  reasoner: z
    .enum(["propose", "act"])
    .default("propose")
    .describe(
      "What becomes of a change that the predictor's language model asks for and the latency models confirm. propose: it waits for a person; act: one within the shares of approval is carried out, under the guard.",
    ),
  approval: z
    .strictObject({
      replicasRatio: z
        .number()
        .positive()
        .max(100)
        .default(0.5)
        .describe("A change of a service's replicas by more than this share waits for a person."),
      containerRatio: z
        .number()
        .positive()
        .max(100)
        .default(0.5)
        .describe("The same for the CPU and the memory of each container."),
      expiresMinutes: z
        .number()
        .min(1)
        .max(1_440)
        .default(15)
        .describe("How long it waits; from then on it changes nothing."),
    })
    .optional()
    .describe("Large changes wait for a person; without it none does."),
  calendars: z
    .array(Calendar)
    .max(100)
    .default([])
    .describe("Least and most replicas by the time of day, the day of the week and the date."),
  prices: Prices.prefault({}).describe("Exchange rate of CPU and memory; any currency."),
});

/**
 * Configuration of one application. Whichever way it is written, `entries` has all that users call, `entry` the first of them, and
 * `objective` is that of the routes that no item of `objectives` names.
 */
export const Application = ApplicationFields.transform((fields, context) => {
  const entries = [...new Set([...(fields.entry === undefined ? [] : [fields.entry]), ...fields.entries])];
  const [entry] = entries;
  if (entry === undefined) {
    const message = "is missing: name the service that users call, or several of them in entries";
    context.addIssue({ code: "custom", path: ["entry"], message });
  }
  for (const { message, path } of objectivesProblems(fields.objectives, fields.objective !== undefined))
    context.addIssue({ code: "custom", path: [...path], message });
  const others = fields.objectives.find(({ route }) => route === undefined);
  const objective =
    fields.objective ??
    (others?.milliseconds === undefined
      ? undefined
      : Objective.parse({ milliseconds: others.milliseconds, percentile: others.percentile }));
  if (entry === undefined || objective === undefined) return z.NEVER;
  const objectives = fields.objectives.filter(({ route }) => route !== undefined);
  return { ...fields, entry, entries, objective, objectives };
});
export type Application = z.output<typeof Application>;

/** Gives the spec of a service, or the defaults for one that the configuration does not name. */
export function serviceSpecs({ services }: Application): (service: string) => ServiceSpec {
  const named = new Map(services.map((spec) => [spec.name, spec]));
  const { name: _, ...defaults } = ServiceSpec.parse({ name: "any" });
  return (service) => named.get(service) ?? { ...defaults, name: service };
}
