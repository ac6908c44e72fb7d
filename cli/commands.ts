import { ASKING_COMMANDS } from "./asking-commands.ts";
import { BEGIN, LOOK, PROCESSES, TRY } from "./entry.ts";
import type { CommandEntry } from "./entry.ts";

/** All commands, in the order in which they are listed. */
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
    name: "scaler",
    alias: "exporter",
    summary: "KEDA external scaler: guards and serves what the predictor recommends",
    group: PROCESSES,
    load: async () => import("@tradewind/exporter/command.ts"),
  },
  {
    name: "try",
    summary: "say what Tradewind would have done for a namespace, before anything is installed",
    group: TRY,
    load: async () => import("@tradewind/simulator/command/try.ts"),
  },
  {
    name: "init",
    summary: "look at a namespace or manifests, and write what to apply to it",
    group: BEGIN,
    load: async () => import("@tradewind/kubernetes/init/command.ts"),
  },
  ...ASKING_COMMANDS,
  {
    name: "proposals",
    summary: "print what the last plan changes as proposals, or check somebody else's on the models",
    group: LOOK,
    load: async () => import("@tradewind/predictor/commands/ask/proposals.ts"),
  },
  {
    name: "audit",
    summary: "print or check what the scaler did, hash-chained",
    group: LOOK,
    load: async () => import("@tradewind/exporter/commands/audit.ts"),
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
    summary: "train DRPC's teacher (TD3) in the simulator, and judge it against the planner",
    group: TRY,
    load: async () => import("@tradewind/simulator/command/train-teacher.ts"),
  },
  {
    name: "lab",
    summary: "make what a release ships with: trains the latency network of all services",
    group: TRY,
    load: async () => import("@tradewind/simulator/command/lab.ts"),
  },
  {
    name: "export",
    summary: "print the stored windows as CSV or JSON lines",
    group: LOOK,
    load: async () => import("@tradewind/predictor/commands/export/command.ts"),
  },
  {
    name: "kubectl",
    summary: "run doctor, status, explain and others on the release in a cluster (kubectl tradewind)",
    group: LOOK,
    load: async () => import("./kubectl.ts"),
  },
  {
    name: "completion",
    summary: "print what makes bash, zsh or fish complete commands, options and values",
    group: BEGIN,
    load: async () => import("./completion/command.ts"),
  },
];
