import { AgentOptions } from "@tradewind/agent/options.ts";
import type { Tree } from "./tree/plant.ts";

/** Options of an agent on a fixture tree that serves on a free port and asks nobody else. */
export const optionsOn = (tree: Tree, options: Partial<AgentOptions> = {}): AgentOptions =>
  AgentOptions.parse({
    listen: "127.0.0.1:0",
    node: "node-a",
    procfs: tree.path("proc"),
    sysfs: tree.path("sys"),
    cgroupfs: tree.path("cgroup"),
    inventory: false,
    kubernetes: "off",
    logLevel: "silent",
    ...options,
  });
