import { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { openApi } from "@tradewind/core/net/openapi.ts";
import { VERSION } from "@tradewind/core/process/version.ts";

/** Loaded when it is asked for: an agent that nobody asks keeps its memory. */
export const DESCRIPTION = JSON.stringify(
  openApi({
    title: "Tradewind agent",
    version: VERSION,
    description: "What the containers of this node use, and how they disturb each other.",
    routes: [
      { method: "get", path: "/metrics", summary: "Metrics for Prometheus, as text or OpenMetrics." },
      { method: "get", path: "/v1/snapshot", summary: "All that is known now.", answer: Snapshot },
      { method: "get", path: "/healthz", summary: "Whether the process works." },
      { method: "get", path: "/readyz", summary: "Whether the node was sampled once." },
    ],
  }),
);
