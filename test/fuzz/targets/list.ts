import type { Target } from "../engine/target.ts";
import { AGENT_TARGETS } from "./agent.ts";
import { CONTRACT_TARGETS } from "./contracts.ts";
import { KEDA_TARGETS } from "./keda.ts";
import { KUBERNETES_TARGETS } from "./kubernetes.ts";
import { FILE_TARGETS } from "./files.ts";
import { MODEL_TARGETS } from "./models.ts";
import { OTLP_TARGETS } from "./otlp.ts";
import { PEER_TARGETS } from "./peers.ts";
import { PLAN_TARGETS } from "./plan.ts";
import { TEXT_TARGETS } from "./texts.ts";
import { PORT_TARGETS } from "./ports.ts";
import { PROMETHEUS_TARGETS } from "./prometheus.ts";
import { TRACE_TARGETS } from "./traces.ts";

/** Everything that reads what others wrote. A new parser or port gets a line in one of these lists. */
export const TARGETS: readonly Target[] = [
  ...AGENT_TARGETS,
  ...CONTRACT_TARGETS,
  ...KEDA_TARGETS,
  ...KUBERNETES_TARGETS,
  ...FILE_TARGETS,
  ...MODEL_TARGETS,
  ...OTLP_TARGETS,
  ...PEER_TARGETS,
  ...PLAN_TARGETS,
  ...TEXT_TARGETS,
  ...PORT_TARGETS,
  ...PROMETHEUS_TARGETS,
  ...TRACE_TARGETS,
];
