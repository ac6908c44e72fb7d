import { describe, expect, it } from "vitest";
import { z } from "zod";
import { APPLICATIONS } from "./application.ts";
import { hpaObjects } from "./objects.ts";
import { bound } from "./tradewind.ts";

/** As `tradewind init` writes them, with bounds that it guesses. */
const APPLICATION = `apiVersion: tradewind.dev/v1alpha1
kind: Application
metadata: { name: podinfo, namespace: podinfo }
spec:
  entry: frontend
  objective: { milliseconds: 50 } # 95 of 100 requests must be faster
  mode: recommend
  services:
    - { name: backend, minReplicas: 1, maxReplicas: 10 }
    - { name: frontend, minReplicas: 1, maxReplicas: 10 }
`;
const scaledObject = (name: string): string => `apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: { name: ${name}, namespace: podinfo }
spec: { scaleTargetRef: { name: ${name} }, pollingInterval: 15, minReplicaCount: 1, maxReplicaCount: 10 }
`;

const Hpas = z.object({
  items: z.array(z.object({ spec: z.object({ minReplicas: z.number(), maxReplicas: z.number() }) })),
});

describe("contenders", () => {
  it("may have 1 to 6 pods of each service, whoever scales them", () => {
    for (const application of APPLICATIONS) {
      const { items } = Hpas.parse(hpaObjects(application));
      expect(items).toHaveLength(application.components.length);
      for (const { spec } of items) expect(spec).toMatchObject({ minReplicas: 1, maxReplicas: 6 });
    }
    const files = [APPLICATION, `${scaledObject("backend")}---\n${scaledObject("frontend")}`] as const;
    const { scaledObjects, spec } = bound("podinfo", ...files);
    expect(spec["services"]).toEqual([
      { name: "backend", minReplicas: 1, maxReplicas: 6 },
      { name: "frontend", minReplicas: 1, maxReplicas: 6 },
    ]);
    const limits = { minReplicaCount: 1, maxReplicaCount: 6 };
    expect(scaledObjects).toMatchObject({
      items: [
        { metadata: { name: "backend" }, spec: { scaleTargetRef: { name: "backend" }, ...limits } },
        { metadata: { name: "frontend" }, spec: { pollingInterval: 15, ...limits } },
      ],
    });
  });

  it("have the application that init wrote, under the release's name for it", () => {
    expect(bound("podinfo", APPLICATION, scaledObject("frontend")).spec).toMatchObject({
      name: "podinfo",
      namespace: "podinfo",
      entry: "frontend",
      objective: { milliseconds: 50 },
    });
  });
});
