import { hostname } from "node:os";
import { z } from "zod";
import { LOG_LEVELS } from "@tradewind/core/log.ts";

const Address = z
  .string()
  .regex(/^(?:\[[0-9a-fA-F:.]+\]|[^:\s]+):\d{1,5}$/, "must be host:port, for example 127.0.0.1:9810");
const Folder = z
  .string()
  .regex(/^\//, "must be an absolute path")
  .transform((path) => path.replace(/(?<=.)\/+$/, ""));

/** How an agent is run. Everything has a default: `AgentOptions.parse({})` reads this machine. */
export const AgentOptions = z.strictObject({
  /** Where to serve HTTP; port 0 takes a free one. */
  listen: Address.default("127.0.0.1:9810"),
  /** This node's name, as workload sources spell it. */
  node: z
    .string()
    .min(1)
    .max(253)
    .default(() => hostname()),
  /** Roots of the node's file systems, wherever they are mounted. */
  procfs: Folder.default("/proc"),
  sysfs: Folder.default("/sys"),
  cgroupfs: Folder.default("/sys/fs/cgroup"),
  /** Paths inside the cgroup trees under which pods are; none: look for kubelet's. */
  cgroupRoots: z.array(Folder).max(64).default([]),
  /** A workloads file (core/contract/workload.ts) that names containers. */
  workloads: z.string().min(1).optional(),
  /** Link speeds in bytes per second by interface, where the driver does not tell; makes a virtual interface count. */
  linkBytesPerSecond: z.record(z.string().min(1).max(64), z.number().positive()).default({}),
  /** Peak memory bandwidth of the node, bytes per second. */
  memoryBandwidthBytesPerSecond: z.number().positive().optional(),
  /** Most CPU seconds per second that reading may cost. */
  costBudgetRatio: z.number().positive().max(1).default(0.005),
  /** Movement of an interference component that is pushed as an event. */
  eventTolerance: z.number().min(0.01).max(1).default(0.1),
  /** Most file descriptors held open. */
  maxOpenFiles: z.number().int().min(16).max(1_000_000).default(16_384),
  logLevel: z.enum(LOG_LEVELS).default("info"),
});
export type AgentOptions = z.output<typeof AgentOptions>;
