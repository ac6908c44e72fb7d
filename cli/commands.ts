import type { Command } from "commander";

/** What every `command.ts` exports. */
export interface CommandModule {
  /** Adds description, options, examples and the action. */
  configure(command: Command): void;
}

export interface CommandEntry {
  readonly name: string;
  /** One line for the list of commands, which must not load the packages behind them. */
  readonly summary: string;
  readonly group: string;
  /** The processes that it asks, by its flags `--scaler` and `--predictor`; absent where it asks none. */
  readonly asks?: { readonly scaler?: "one" | "every"; readonly predictor?: "one" };
  readonly load: () => Promise<CommandModule>;
}

const PROCESSES = "Processes, one for each image:";
const TRY = "On one machine:";
const BEGIN = "In a cluster:";
const LOOK = "Looking after it:";

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "local",
    summary: "run a small application, its load and all of Tradewind on this machine (npm start)",
    group: TRY,
    load: async () => import("@tradewind/local/command.ts"),
  },
  {
    name: "inject",
    summary: "be a noisy neighbour: take CPU, memory, bandwidth or network for a while",
    group: TRY,
    load: async () => import("@tradewind/local/inject/command.ts"),
  },
  {
    name: "profile",
    summary: "sweep load, allocation, replicas and interference on this machine, for latency profiles",
    group: TRY,
    load: async () => import("@tradewind/local/profile/command.ts"),
  },
  {
    name: "agent",
    summary: "node agent: hardware and interference metrics of this node",
    group: PROCESSES,
    load: async () => import("@tradewind/agent/command.ts"),
  },
  {
    name: "predictor",
    summary: "sidecar: traces to windows to a plan",
    group: PROCESSES,
    load: async () => import("@tradewind/predictor/command.ts"),
  },
  {
    name: "exporter",
    summary: "KEDA external scaler: guards and serves what the predictor recommends",
    group: PROCESSES,
    load: async () => import("@tradewind/exporter/command.ts"),
  },
  {
    name: "init",
    summary: "look at a namespace or manifests, and write what to apply to it",
    group: BEGIN,
    load: async () => import("@tradewind/kubernetes/init/command.ts"),
  },
  {
    name: "doctor",
    summary: "ask every configured server whether it answers, and say what to do",
    group: LOOK,
    asks: { scaler: "one", predictor: "one" },
    load: async () => import("@tradewind/predictor/doctor/command.ts"),
  },
  {
    name: "status",
    summary: "show what is recommended now, and which decision set it and why",
    group: LOOK,
    asks: { scaler: "one" },
    load: async () => import("@tradewind/exporter/status/command.ts"),
  },
  {
    name: "explain",
    summary: "say why the objective is missed: service, resource, evidence, and what would end it",
    group: LOOK,
    asks: { predictor: "one" },
    load: async () => import("@tradewind/predictor/ask/explain.ts"),
  },
  {
    name: "what-if",
    summary: "show p95 and cost at another load or other sizes, by the live models",
    group: LOOK,
    asks: { predictor: "one" },
    load: async () => import("@tradewind/predictor/ask/what-if.ts"),
  },
  {
    name: "proposals",
    summary: "print what the last plan changes as proposals, or check somebody else's on the models",
    group: LOOK,
    load: async () => import("@tradewind/predictor/ask/proposals.ts"),
  },
  {
    name: "sensitivities",
    summary: "show what more CPU or one more replica of each service is worth now",
    group: LOOK,
    asks: { predictor: "one" },
    load: async () => import("@tradewind/predictor/ask/sensitivities.ts"),
  },
  {
    name: "report",
    summary: "show what happened over a time: objective, cost, decisions, savings",
    group: LOOK,
    asks: { scaler: "one", predictor: "one" },
    load: async () => import("@tradewind/predictor/ask/report.ts"),
  },
  {
    name: "approve",
    summary: "list large changes that wait for a person, approve or refuse one",
    group: LOOK,
    asks: { scaler: "every" },
    load: async () => import("@tradewind/exporter/approval/command.ts"),
  },
  {
    name: "audit",
    summary: "print or check what the scaler did, hash-chained",
    group: LOOK,
    load: async () => import("@tradewind/exporter/audit/command.ts"),
  },
  {
    name: "replay",
    summary: "decide again on a decision record, and compare byte by byte",
    group: LOOK,
    asks: { scaler: "one" },
    load: async () => import("@tradewind/exporter/replay/command.ts"),
  },
  {
    name: "backtest",
    summary: "replay policies on what was recorded, after saying how far its models are off",
    group: BEGIN,
    load: async () => import("@tradewind/simulator/command/backtest.ts"),
  },
  {
    name: "train-students",
    summary: "teach what scalers decide by while no predictor answers, in the simulator",
    group: TRY,
    load: async () => import("@tradewind/simulator/command/train-students.ts"),
  },
  {
    name: "train-teacher",
    summary: "trains DRPC's teacher (TD3) in the simulator, and judges it against the planner",
    group: TRY,
    load: async () => import("@tradewind/simulator/command/train-teacher.ts"),
  },
  {
    name: "export",
    summary: "print the stored windows as CSV or JSON lines",
    group: LOOK,
    load: async () => import("@tradewind/predictor/export/command.ts"),
  },
  {
    name: "kubectl",
    summary: "run one of the commands above on the release in a cluster (kubectl tradewind)",
    group: LOOK,
    load: async () => import("./kubectl/command.ts"),
  },
  {
    name: "completion",
    summary: "print what makes bash, zsh or fish complete commands, options and values",
    group: BEGIN,
    load: async () => import("./completion/command.ts"),
  },
];
