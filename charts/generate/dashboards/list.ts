import type { Dashboard } from "../grafana.ts";
import { application } from "./application.ts";
import { cost } from "./cost.ts";
import { itself } from "./itself.ts";
import { nodes } from "./nodes.ts";

/** By the name of their file. */
export const DASHBOARDS: Readonly<Record<string, Dashboard>> = { application, cost, nodes, itself };
