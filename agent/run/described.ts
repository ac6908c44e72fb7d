import { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { openApi } from "@tradewind/core/net/openapi.ts";
import type { DescribedServer } from "@tradewind/core/net/openapi.ts";
import { PROFILE_ROUTES } from "@tradewind/core/net/profile-routes.ts";
import { VERSION } from "@tradewind/core/process/version.ts";

export const DESCRIBED: DescribedServer = {
  title: "Tradewind agent",
  version: VERSION,
  description: "What the containers of this node use, and how they disturb each other.",
  routes: [
    { method: "get", path: "/metrics", summary: "Metrics for Prometheus, as text or OpenMetrics." },
    { method: "get", path: "/v1/snapshot", summary: "All that is known now.", answer: Snapshot },
    ...PROFILE_ROUTES,
    { method: "get", path: "/healthz", summary: "Whether the process works." },
    { method: "get", path: "/readyz", summary: "Whether the node was sampled once." },
  ],
};

/** Loaded when it is asked for: an agent that nobody asks keeps its memory. */
export const DESCRIPTION = JSON.stringify(openApi(DESCRIBED));
