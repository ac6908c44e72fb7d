import { CONTAINER_SERIES } from "./container/columns.ts";
import { hostname } from "node:os";
import { z } from "zod";
import { LOG_LEVELS } from "@tradewind/core/process/log.ts";
import { ADDRESS_RULE, DEFAULTS, FOLDER_RULE, isAddress, isFolder, tidyFolder } from "./defaults.ts";

const Folder = z.string().refine(isFolder, FOLDER_RULE).transform(tidyFolder);

/**
 * How an agent is run. Everything has a default: `AgentOptions.parse({})` reads this machine. The agent's own process
 * does not load this schema: the command line checks each flag with the same rules (agent/defaults.ts).
 */
export const AgentOptions = z.strictObject({
  /** Where to serve HTTP; port 0 takes a free one. */
  listen: z.string().refine(isAddress, ADDRESS_RULE).default(DEFAULTS.listen),
  /** Where to answer `/healthz` and `/readyz` besides; absent: nowhere else. */
  probeListen: z.string().refine(isAddress, ADDRESS_RULE).optional(),
  /** Names by which the agent may be asked for, besides addresses and names that only a cluster gives. */
  allowedHosts: z.array(z.string().min(1)).default([]),
  /** Share of a core that one sender may keep busy with its requests. */
  maxSenderWork: z.number().min(0.01).max(100).default(DEFAULTS.maxSenderWork),
  /** Token that requests must show; absent: none. */
  httpTokenFile: z.string().min(1).optional(),
  /** Certificate and key of `listen`, PEM files; absent: no TLS. */
  httpTls: z
    .strictObject({
      cert: z.string().min(1),
      key: z.string().min(1),
      refreshMs: z.number().min(10).optional(),
    })
    .optional(),
  /** This node's name, as workload sources spell it. */
  node: z
    .string()
    .min(1)
    .max(253)
    .default(() => hostname()),
  /** Roots of the node's file systems, wherever they are mounted. */
  procfs: Folder.default(DEFAULTS.procfs),
  sysfs: Folder.default(DEFAULTS.sysfs),
  cgroupfs: Folder.default(DEFAULTS.cgroupfs),
  /** Paths inside the cgroup trees under which pods are; none: look for kubelet's. */
  cgroupRoots: z.array(Folder).max(64).default([]),
  /** A workloads file (core/contract/workload.ts) that names containers. */
  workloads: z.string().min(1).optional(),
  /** Pod names from the Kubernetes API: `auto` where the pod's service account is there, or `off`. */
  kubernetes: z.enum(["auto", "off"]).default(DEFAULTS.kubernetes),
  /** Link speeds in bytes per second by interface, where the driver does not tell; makes a virtual interface count. */
  linkBytesPerSecond: z.record(z.string().min(1).max(64), z.number().positive()).default({}),
  /** Peak memory bandwidth of the node, bytes per second. */
  memoryBandwidthBytesPerSecond: z.number().positive().optional(),
  /** Series of containers to expose: all, those that the kubelet's cAdvisor lacks, or none. */
  containerSeries: z.enum(CONTAINER_SERIES).default(DEFAULTS.containerSeries),
  /** Look at the hardware once, in a process of its own. */
  inventory: z.boolean().default(DEFAULTS.inventory),
  /** Length of the predictor's windows, s: readings are timed by their ends. */
  windowSeconds: z.number().min(0.5).max(3_600).default(DEFAULTS.windowSeconds),
  /** Most CPU seconds per second that reading may cost. */
  costBudgetRatio: z.number().positive().max(1).default(DEFAULTS.costBudgetRatio),
  /** Most file descriptors held open. */
  maxOpenFiles: z.number().int().min(16).max(1_000_000).default(DEFAULTS.maxOpenFiles),
  logLevel: z.enum(LOG_LEVELS).default(DEFAULTS.logLevel),
});
export type AgentOptions = z.output<typeof AgentOptions>;
