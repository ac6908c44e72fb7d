import { LOOK } from "./entry.ts";
import type { CommandEntry } from "./entry.ts";

const OVERRIDES = [
  ["pause", "leave a service, an application or everything alone for a while"],
  ["hold", "keep sizes as they are, or at what is named, for a while"],
  ["floor", "keep at least so many replicas for a while"],
  ["undo", "go back to what ran before the last change, and hold it"],
  ["release", "end a pause, hold, floor or undo; list those in force"],
] as const;

/** Commands that ask a running scaler or predictor; `kubectl tradewind` runs them on the release in a cluster. */
export const ASKING_COMMANDS: readonly CommandEntry[] = [
  {
    name: "doctor",
    summary: "ask every configured server whether it answers, and say what to do",
    group: LOOK,
    asks: { scaler: "one", predictor: "one" },
    load: async () => import("@tradewind/predictor/commands/doctor/command.ts"),
  },
  {
    name: "status",
    summary: "show what is recommended now, and which decision set it and why",
    group: LOOK,
    asks: { scaler: "one" },
    load: async () => import("@tradewind/exporter/commands/status.ts"),
  },
  {
    name: "why",
    summary: "say why a service changed, now or at a time, and what came of it",
    group: LOOK,
    asks: { scaler: "one" },
    load: async () => import("@tradewind/exporter/commands/why.ts"),
  },
  {
    name: "ready",
    summary: "say whether mode act is safe for an application, or what is not met yet",
    group: LOOK,
    asks: { scaler: "one" },
    load: async () => import("@tradewind/exporter/commands/ready.ts"),
  },
  {
    name: "explain",
    summary: "say why the objective is missed: service, resource, evidence, and what would end it",
    group: LOOK,
    asks: { predictor: "one" },
    load: async () => import("@tradewind/predictor/commands/ask/explain.ts"),
  },
  {
    name: "what-if",
    summary: "show p95 and cost at another load or other sizes, by the live models",
    group: LOOK,
    asks: { predictor: "one" },
    load: async () => import("@tradewind/predictor/commands/ask/what-if.ts"),
  },
  {
    name: "routes",
    summary: "list the routes with their latency and objective, and why each counts or not",
    group: LOOK,
    asks: { predictor: "one" },
    load: async () => import("@tradewind/predictor/commands/ask/routes.ts"),
  },
  {
    name: "sensitivities",
    summary: "show what more CPU or one more replica of each service is worth now",
    group: LOOK,
    asks: { predictor: "one" },
    load: async () => import("@tradewind/predictor/commands/ask/sensitivities.ts"),
  },
  {
    name: "node-classes",
    summary: "show how fast the kinds of nodes are, and what services would gain on faster ones",
    group: LOOK,
    asks: { predictor: "one" },
    load: async () => import("@tradewind/predictor/commands/ask/node-classes.ts"),
  },
  {
    name: "report",
    summary: "show what happened over a time: objective, cost, decisions, savings",
    group: LOOK,
    asks: { scaler: "one", predictor: "one" },
    load: async () => import("@tradewind/predictor/commands/ask/report.ts"),
  },
  {
    name: "approve",
    summary: "list large changes that wait for a person, approve or refuse one",
    group: LOOK,
    asks: { scaler: "every" },
    load: async () => import("@tradewind/exporter/commands/approve.ts"),
  },
  ...OVERRIDES.map(([name, summary]): CommandEntry => ({
    name,
    summary,
    group: LOOK,
    asks: { scaler: "every" },
    load: async () => ({
      configure: (await import("@tradewind/exporter/commands/override.ts")).configureFor(name),
    }),
  })),
  {
    name: "replay",
    summary: "decide again on a decision record, and compare byte by byte",
    group: LOOK,
    asks: { scaler: "one" },
    load: async () => import("@tradewind/exporter/commands/replay.ts"),
  },
];
