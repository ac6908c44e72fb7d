import { ApplicationFields } from "@tradewind/core/contract/application.ts";
import { RESOURCES } from "../client/resources.ts";
import { ApplicationStatus } from "./status.ts";
import type { ConditionType } from "./status.ts";
import { structuralSchema } from "./structural-schema.ts";
import type { Extensions, OpenApiSchema } from "./structural-schema.ts";

/** Rules over several fields at once; the configuration file is held to the same (kubernetes/application/file.ts). */
const SPEC: Extensions = {
  validations: {
    spec: [
      {
        rule: "!has(self.budget.pods) || self.services.map(s, s.minReplicas).sum() <= self.budget.pods",
        message: "budget.pods must not be below the sum of the services' minReplicas",
      },
      {
        rule: "has(self.entry) || self.entries.size() > 0",
        message: "entry is missing: name the service that users call, or several of them in entries",
      },
      {
        rule: "(has(self.objective) ? 1 : 0) + self.objectives.filter(o, !has(o.route)).size() == 1",
        message:
          "the objective of all routes that none of objectives names is given once: as objective, or as an item of objectives without route",
      },
    ],
    "spec.objectives[]": [
      {
        rule: "(has(self.milliseconds) ? 1 : 0) + (has(self.exclude) ? 1 : 0) + (has(self.stream) ? 1 : 0) == 1",
        message: "an objective needs one of milliseconds: 250, exclude: true and stream: true",
      },
      {
        rule: "has(self.route) || (has(self.milliseconds) && !has(self.weight))",
        message: "exclude, stream and weight are of a route: add route: GET /api/*",
      },
      {
        rule: "has(self.milliseconds) || (!has(self.percentile) && !has(self.weight))",
        message: "percentile and weight go with milliseconds: leave them out",
      },
    ],
    "spec.services[]": [
      {
        rule: "self.minReplicas <= self.maxReplicas",
        message: "minReplicas must not be above maxReplicas",
      },
    ],
    "spec.calendars[]": [
      {
        rule: "has(self.floor) || has(self.ceiling)",
        message: "a calendar needs a floor or a ceiling",
      },
      {
        rule: "!has(self.floor) || has(self.floor.replicas) != has(self.floor.timesUsual)",
        message: "a floor has either replicas or timesUsual",
      },
      {
        rule: "!has(self.floor) || !has(self.ceiling) || !has(self.floor.replicas) || self.floor.replicas <= self.ceiling.replicas",
        message: "floor.replicas must not be above ceiling.replicas",
      },
    ],
    "spec.services[].cpu": [
      { rule: "self.minCores <= self.maxCores", message: "cpu.minCores must not be above cpu.maxCores" },
    ],
    "spec.services[].memory": [
      {
        rule: "self.minBytes <= self.maxBytes",
        message: "memory.minBytes must not be above memory.maxBytes",
      },
    ],
  },
  keyedLists: { "spec.calendars": ["name"], "spec.services": ["name"] },
};

const STATUS: Extensions = {
  validations: {},
  keyedLists: { "status.conditions": ["type"], "status.services": ["namespace", "name"] },
};

interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  readonly description?: string;
  /** 1: only with `-o wide`. */
  readonly priority?: number;
}

const ofCondition = (type: ConditionType, field: "status" | "reason"): string =>
  `.status.conditions[?(@.type=="${type}")].${field}`;

const COLUMNS: readonly PrinterColumn[] = [
  {
    name: "Mode",
    type: "string",
    jsonPath: ofCondition("Acting", "reason"),
    description: "What is done with recommendations; Act: they are carried out",
  },
  {
    name: "Objective(ms)",
    type: "number",
    jsonPath: ".spec.objective.milliseconds",
    description: "Latency that the percentile must stay under",
  },
  {
    name: "Measured(ms)",
    type: "integer",
    jsonPath: ".status.measuredMilliseconds",
    description: "The objective's percentile in the last window",
  },
  { name: "Met", type: "string", jsonPath: ofCondition("ObjectiveMet", "status") },
  { name: "Services", type: "integer", jsonPath: ".status.serviceCount" },
  {
    name: "Replicas",
    type: "string",
    jsonPath: ".status.replicas",
    description: "Ready now → recommended, all services together",
  },
  {
    name: "Cost/h",
    type: "string",
    jsonPath: ".status.costPerHour",
    description: "Of what runs → of what is recommended, by the application's prices",
  },
  { name: "Ready", type: "string", jsonPath: ofCondition("Ready", "status") },
  { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  { name: "Percentile", type: "number", jsonPath: ".spec.objective.percentile", priority: 1 },
  { name: "Predicted(ms)", type: "integer", jsonPath: ".status.predictedMilliseconds", priority: 1 },
  { name: "Policy", type: "string", jsonPath: ".status.policy", priority: 1 },
  { name: "Why", type: "string", jsonPath: ".status.policyReason", priority: 1 },
];

/** The CustomResourceDefinition of `applications.tradewind.dev`, made from the schema of the configuration file. */
export function applicationCrd(): OpenApiSchema {
  const { group, kind, plural, version } = RESOURCES.applications;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind, listKind: `${kind}List`, plural, singular: "application", shortNames: ["twapp"] },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: COLUMNS,
          schema: { openAPIV3Schema: resourceSchema(kind) },
        },
      ],
    },
  };
}

function resourceSchema(kind: string): OpenApiSchema {
  const spec = structuralSchema(ApplicationFields.omit({ name: true, namespace: true }), "spec", SPEC);
  const status = structuralSchema(ApplicationStatus, "status", STATUS);
  return {
    type: "object",
    description: `${kind}: services that share a latency objective. The entry service and the objective are enough.`,
    required: ["spec"],
    properties: {
      apiVersion: { type: "string", description: "tradewind.dev/v1alpha1." },
      kind: { type: "string", description: "Application." },
      metadata: { type: "object" },
      spec: { description: "What users are promised, and what may be done for it.", ...spec },
      status: { description: "Written by the leading scaler.", ...status },
    },
  };
}
