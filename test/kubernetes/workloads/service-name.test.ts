import { describe, expect, it } from "vitest";
import { scalable } from "@tradewind/kubernetes/objects/scalable.ts";
import type { Scalable } from "@tradewind/kubernetes/objects/scalable.ts";
import { serviceNames } from "@tradewind/kubernetes/workloads/service-name.ts";
import { deployment } from "../cluster-objects.ts";

const parse = (...parameters: Parameters<typeof deployment>): Scalable =>
  scalable("Deployment").parse(deployment(...parameters));
const nameOf = (workload: Scalable, others: readonly Scalable[] = [], configured?: string) =>
  serviceNames([workload, ...others], () => configured).get(workload.uid);

const LABEL = "app.kubernetes.io/name";

describe("the service name of a workload", () => {
  const everything = {
    annotations: {
      "tradewind.dev/service": "by-annotation",
      "resource.opentelemetry.io/service.name": "by-operator",
    },
    podLabels: { [LABEL]: "by-label" },
    env: [
      { name: "OTEL_SERVICE_NAME", value: "by-variable" },
      { name: "OTEL_RESOURCE_ATTRIBUTES", value: "a=b,service.name=by-attributes" },
    ],
  };

  it("is the most explicit one of those it has, in the documented order", () => {
    const seen: (string | undefined)[] = [];
    const left = structuredClone(everything) as Partial<typeof everything>;
    const take = (configured?: string) => seen.push(nameOf(parse("cart", left), [], configured)?.service);
    take("by-configuration");
    take();
    left.annotations = {
      "resource.opentelemetry.io/service.name": "by-operator",
    } as typeof everything.annotations;
    take();
    left.env = [everything.env[1]!];
    take();
    delete left.env;
    take();
    delete left.annotations;
    take();
    delete left.podLabels;
    take();
    expect(seen).toEqual([
      "by-configuration",
      "by-annotation",
      "by-variable",
      "by-attributes",
      "by-operator",
      "by-label",
      "cart",
    ]);
  });

  it("takes the label only where no other workload of the namespace carries the same", () => {
    const one = parse("shop-cart", { podLabels: { [LABEL]: "shop" } });
    const other = parse("shop-web", { podLabels: { [LABEL]: "shop" } });
    const elsewhere = parse("shop-web", { podLabels: { [LABEL]: "shop" }, namespace: "test", uid: "else" });
    expect(nameOf(one, [elsewhere])).toEqual({ service: "shop", source: "label" });
    expect(nameOf(one, [other])).toEqual({ service: "shop-cart", source: "workload" });
  });

  it("follows a variable to the pod's label, as the OpenTelemetry demo sets it", () => {
    const fieldPath = "metadata.labels['app.kubernetes.io/component']";
    const env = [{ name: "OTEL_SERVICE_NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath } } }];
    const podLabels = { "app.kubernetes.io/component": "checkout" };
    expect(nameOf(parse("demo-checkout", { env, podLabels }))?.service).toBe("checkout");
  });

  it("follows a variable to an annotation of the pod, whatever its name and whatever the workload's own says", () => {
    const fieldPath = "metadata.annotations['example.com/service']";
    const env = [{ name: "OTEL_SERVICE_NAME", valueFrom: { fieldRef: { fieldPath } } }];
    const cart = deployment("cart-v2", { env, annotations: { "example.com/service": "other" } });
    const { template } = cart.spec as { template: { metadata: object } };
    Object.assign(template.metadata, { annotations: { "example.com/service": "cart" } });
    const workload = scalable("Deployment").parse(cart);
    expect(nameOf(workload)).toEqual({ service: "cart", source: "OTEL_SERVICE_NAME" });
    expect(workload.annotations).toEqual({});
  });

  it.each([
    ["refers to another variable", [{ name: "OTEL_SERVICE_NAME", value: "$(NAME)-v1" }]],
    [
      "comes from a secret",
      [{ name: "OTEL_SERVICE_NAME", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }],
    ],
    ["is empty", [{ name: "OTEL_SERVICE_NAME", value: "" }]],
    ["holds control characters", [{ name: "OTEL_SERVICE_NAME", value: "a\u0007b" }]],
  ])("passes over a variable that %s", (_what, env) => {
    expect(nameOf(parse("cart", { env }))).toEqual({ service: "cart", source: "workload" });
  });

  it("decodes percent-encoded attributes", () => {
    const env = [{ name: "OTEL_RESOURCE_ATTRIBUTES", value: "x=1, service.name=big%20cart" }];
    expect(nameOf(parse("cart", { env }))?.service).toBe("big cart");
  });
});
