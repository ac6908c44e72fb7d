import { describe, expect, it } from "vitest";
import { z } from "zod";
import { safely } from "@tradewind/core/values/config.ts";
import { ListOf } from "@tradewind/kubernetes/objects/bounded.ts";
import { PodDisruptionBudget } from "@tradewind/kubernetes/objects/disruption-budget.ts";
import { StringMap, Timestamp } from "@tradewind/kubernetes/objects/metadata.ts";
import { Pod } from "@tradewind/kubernetes/objects/pod.ts";
import { scalable } from "@tradewind/kubernetes/objects/scalable.ts";
import { deployment, podOf } from "../cluster-objects.ts";

describe("a list in an object", () => {
  const list = ListOf(z.object({ name: z.string() }), 2);

  it.each([
    [undefined, []],
    [null, []],
    [[{ name: "a", more: 1 }], [{ name: "a" }]],
  ])("%j is read as %j", (given, read) => {
    expect(list.parse(given)).toEqual(read);
  });

  it.each([
    [[{}, {}, {}], "has 3 elements, and at most 2 are read"],
    ["ab", "must be a list"],
    [[5], "expected object"],
  ])("%j is refused: %s", (given, problem) => {
    expect(list.safeParse(given).error?.issues[0]?.message).toContain(problem);
  });

  it("of 200,000 wrong elements is refused in words, also where nothing bounds it", () => {
    const wrong = { items: Array.from({ length: 200_000 }, () => 0) };
    expect(safely(z.object({ items: z.array(z.string()) }), wrong).success).toBe(false);
  });
});

describe("what a tenant writes", () => {
  it("is read as far as it is used: variables of OpenTelemetry alone, at most so many characters of each", () => {
    const env = [
      ...Array.from({ length: 5_000 }, (_, index) => ({ name: `V${index}`, value: 5 })),
      { name: "OTEL_SERVICE_NAME", value: "geo" },
      { name: "OTEL_RESOURCE_ATTRIBUTES", value: "a=b,".repeat(5_000) },
    ];
    const [container] = scalable("Deployment").parse(deployment("x", { env })).containers;
    expect(container?.env).toEqual([
      { name: "OTEL_SERVICE_NAME", value: "geo" },
      { name: "OTEL_RESOURCE_ATTRIBUTES" },
    ]);
  });

  it("with a thousand containers, conditions or owners is left out", () => {
    const thousand = Array.from({ length: 1_000 }, () => ({ name: "x", type: "a", status: "b" }));
    const whole = podOf("geo", 0);
    for (const changed of [
      { ...whole, spec: { containers: thousand } },
      { ...whole, status: { conditions: thousand } },
      { ...whole, metadata: { ...whole.metadata, ownerReferences: thousand } },
    ])
      expect(Pod.safeParse(changed).error?.issues[0]?.message).toContain("has 1000 elements");
    expect(Pod.safeParse(whole).success).toBe(true);
  });

  it("as the selector of a PodDisruptionBudget has at most a hundred labels", () => {
    const labels = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`l${index}`, "v"]));
    const budget = (count: number) => ({
      metadata: { name: "all", namespace: "shop", uid: "u" },
      spec: { selector: { matchLabels: labels(count) } },
    });
    expect(PodDisruptionBudget.safeParse(budget(100)).success).toBe(true);
    expect(PodDisruptionBudget.safeParse(budget(101)).success).toBe(false);
  });
});

it("texts by name are texts, whatever they are called, and a time is a short text", () => {
  expect(StringMap.parse(undefined)).toEqual({});
  expect(StringMap.parse({ a: "b" })).toEqual({ a: "b" });
  for (const wrong of [[], "a", { a: 1 }]) expect(StringMap.safeParse(wrong).success).toBe(false);
  expect(Timestamp.parse("2026-01-02T03:04:05Z")).toBe(Date.UTC(2026, 0, 2, 3, 4, 5));
  expect(Timestamp.parse(`2026-01-02T03:04:05Z${" ".repeat(100)}`)).toBeUndefined();
});
