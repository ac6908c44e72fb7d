import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { nothingFound, take } from "@tradewind/kubernetes/init/found.ts";
import type { Found } from "@tradewind/kubernetes/init/found.ts";
import { HPA_CPU } from "../contenders/hpa.ts";
import { recorded } from "../contenders/recorded.ts";
import { run } from "../contenders/run.ts";
import { obstacle } from "../course/obstacle.ts";
import { obstacleOf } from "../course/plant.ts";
import { flashCrowd, wave } from "../model/load.ts";
import type { Reading } from "./insight.ts";

const SECONDS = 2_700;
const OBJECTIVE_MS = 100;
const SEED = 20_260;
const MIB = 2 ** 20;

/** A calm half with waves, and within four minutes a crowd on top of them: CPU says too late that users wait. */
export const INCIDENT = obstacle({
  name: "demo",
  about: "A crowd comes while an HPA at 60 % CPU is in charge.",
  load: (atSeconds) =>
    wave(25, 60, 600)(atSeconds) +
    flashCrowd({ base: 0, peak: 90, startSeconds: 1_740, riseSeconds: 240, holdSeconds: 300 })(atSeconds),
  seconds: SECONDS,
  objectiveMs: OBJECTIVE_MS,
});

/** The demonstration's recording: the simulated shop under an HPA. */
export async function recordedIncident(): Promise<Reading & { readonly objectiveMilliseconds: number }> {
  const simulated = obstacleOf(INCIDENT);
  const sets: WindowSet[] = [];
  await run({ obstacle: simulated, contender: recorded(HPA_CPU, sets), actuators: "replicas", seed: SEED });
  return {
    found: shopObjects(sets[0]?.windows[0]?.namespace ?? "default"),
    sets,
    objectiveMilliseconds: OBJECTIVE_MS,
  };
}

/** The shop as a cluster would show it. */
function shopObjects(namespace: string): Found {
  const found = nothingFound();
  for (const { container, name, replicas } of INCIDENT.model.application.services) {
    const metadata = { name, namespace, uid: name };
    const resources = {
      cpu: `${1e3 * (container.cpuRequestCores ?? 0)}m`,
      memory: `${(container.memoryRequestBytes ?? 0) / MIB}Mi`,
    };
    take(found, "Deployment", {
      metadata,
      spec: {
        replicas,
        template: {
          metadata: { labels: { app: name } },
          spec: {
            containers: [
              { name, image: `registry.example.com/shop/${name}:1`, resources: { requests: resources } },
            ],
          },
        },
      },
    });
    take(found, "Service", { metadata, spec: { selector: { app: name }, ports: [{ port: 80 }] } });
    take(found, "HorizontalPodAutoscaler", {
      metadata,
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name },
        minReplicas: 1,
        maxReplicas: 60,
        metrics: [
          {
            type: "Resource",
            resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } },
          },
        ],
      },
    });
  }
  return found;
}
