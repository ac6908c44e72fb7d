import { HorizontalPodAutoscaler, ScaledObject } from "@tradewind/kubernetes/objects/autoscaler.ts";
import { scalable } from "@tradewind/kubernetes/objects/scalable.ts";
import { scalingsOf } from "@tradewind/kubernetes/workloads/workload-list.ts";
import { describe, expect, it } from "vitest";
import { deployment } from "../cluster-objects.ts";
import type { KubeObject } from "../fake-objects.ts";
import { ASKS_TRADEWIND, kedaHpa, scaledObject } from "../keda-objects.ts";

const search = scalable("Deployment").parse(deployment("search", { replicas: 4 }));

/** How a Deployment `search` of four replicas is scaled, whose ScaledObject allows one to nine. */
function scaled({
  advanced,
  annotations = {},
  hpa,
  metricType,
}: {
  readonly annotations?: Record<string, string>;
  readonly advanced?: object;
  readonly metricType?: string;
  readonly hpa?: KubeObject;
}) {
  const object = scaledObject([{ ...ASKS_TRADEWIND, ...(metricType !== undefined && { metricType }) }]);
  const made = {
    ...object,
    metadata: { ...object.metadata, annotations },
    spec: { ...(object["spec"] as object), ...(advanced !== undefined && { advanced }) },
  };
  const [found] = scalingsOf(
    {
      scalables: [search],
      scaledObjects: [ScaledObject.parse(made)],
      horizontalPodAutoscalers:
        hpa === undefined
          ? []
          : [HorizontalPodAutoscaler.parse({ ...hpa, metadata: { ...hpa.metadata, uid: "hpa" } })],
    },
    () => undefined,
  );
  return found;
}

const annotated = (name: string, value = "true") =>
  scaled({ annotations: { [`autoscaling.keda.sh/${name}`]: value } });
const behavior = (off: object) => ({ horizontalPodAutoscalerConfig: { behavior: off } });
const OFF = { selectPolicy: "Disabled" };

describe("between which numbers an autoscaler can bring its replicas", () => {
  it("are its own bounds", () => {
    expect(scaled({})).toEqual({
      namespace: "shop",
      service: "search",
      replicasWanted: 4,
      minReplicas: 1,
      maxReplicas: 9,
    });
  });

  it("is what runs while it is paused, or the number that it is paused at", () => {
    expect(annotated("paused")).toMatchObject({ minReplicas: 4, maxReplicas: 4, scalingPaused: true });
    expect(annotated("paused-replicas", "6")).toMatchObject({
      minReplicas: 6,
      maxReplicas: 6,
      scalingPaused: true,
    });
    expect(annotated("paused", "false")).toMatchObject({ minReplicas: 1, maxReplicas: 9 });
  });

  it("ends at what runs in the direction that is paused", () => {
    expect(annotated("paused-scale-in")).toMatchObject({ minReplicas: 4, maxReplicas: 9 });
    expect(annotated("paused-scale-out")).toMatchObject({ minReplicas: 1, maxReplicas: 4 });
    expect(annotated("paused-scale-in")).not.toHaveProperty("scalingPaused");
  });

  it("ends there where the policies of its behavior switch a direction off, too", () => {
    expect(scaled({ advanced: behavior({ scaleDown: OFF }) })).toMatchObject({ minReplicas: 4 });
    expect(scaled({ advanced: behavior({ scaleUp: OFF }) })).toMatchObject({ maxReplicas: 4 });
    expect(scaled({ advanced: behavior({ scaleUp: OFF, scaleDown: OFF }) })).toMatchObject({
      minReplicas: 4,
      maxReplicas: 4,
      scalingPaused: true,
    });
    const { minReplicas } = { ...scaled({ advanced: behavior({ scaleDown: { selectPolicy: "Max" } }) }) };
    expect(minReplicas).toBe(1);
  });

  it("is what runs where its HPA would multiply what it is told", () => {
    const multiplied = { minReplicas: 4, maxReplicas: 4, scalingPaused: "multiplied" };
    expect(scaled({ metricType: "Value" })).toMatchObject(multiplied);
    expect(scaled({ metricType: "AverageValue" })).toMatchObject({ maxReplicas: 9 });
    const hpa = kedaHpa(["s0-recommended-replicas"]);
    const text = JSON.stringify(hpa).replace(
      '"type":"AverageValue","averageValue"',
      '"type":"Value","value"',
    );
    expect(scaled({ hpa: JSON.parse(text) as KubeObject })).toMatchObject(multiplied);
    expect(scaled({ hpa })).toMatchObject({ maxReplicas: 9 });
  });
});
