import { describe, expect, it } from "vitest";
import { z } from "zod";
import { scaledComponents } from "./application.ts";
import { APPLICATIONS } from "./catalogue.ts";
import { applicationObjects, hpaObjects } from "./objects.ts";
import { FIXED_LABEL } from "./pod-watch.ts";
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
const Objects = z.object({
  items: z.array(
    z.object({
      kind: z.string(),
      metadata: z.object({ name: z.string() }),
      spec: z
        .object({
          template: z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()) }) }).optional(),
        })
        .optional(),
    }),
  ),
});

describe("contenders", () => {
  it("may have 1 to 6 pods of each service, whoever scales them", () => {
    for (const application of APPLICATIONS) {
      const { items } = Hpas.parse(hpaObjects(application));
      expect(items).toHaveLength(scaledComponents(application).length);
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

  it("leave databases, queues and collectors alone, which are not counted either", () => {
    const isFixed = (name: string): boolean | undefined =>
      APPLICATIONS.flatMap(({ components }) => components).find((each) => each.name === name)?.isFixed;
    expect(["postgres", "redis", "collector", "prometheus"].map(isFixed)).toEqual([true, true, true, true]);
    for (const application of APPLICATIONS) {
      const { items } = Objects.parse(applicationObjects(application));
      const scaled = items.filter(
        ({ kind, spec }) =>
          kind === "Deployment" && spec?.template?.metadata.labels[FIXED_LABEL] === undefined,
      );
      expect(scaled.map(({ metadata }) => metadata.name)).toEqual(
        scaledComponents(application).map(({ name }) => name),
      );
    }
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
