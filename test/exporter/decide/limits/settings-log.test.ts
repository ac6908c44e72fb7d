import { Application } from "@tradewind/core/contract/application.ts";
import { AuditEvent } from "@tradewind/core/contract/audit.ts";
import { eventText } from "@tradewind/core/contract/sentences.ts";
import { SettingsLog } from "@tradewind/exporter/decide/limits/settings-log.ts";
import { annotatedIn, Resource } from "@tradewind/kubernetes/application/resource.ts";
import { expect, it } from "vitest";

const configured = (mode: string, services: object[]): Application =>
  Application.parse({
    name: "hotel",
    namespace: "shop",
    entry: "front",
    mode,
    objective: { milliseconds: 200 },
    services,
  });

it("notes who set the mode and moved the bounds of a service, and nothing at the first sight or where nothing changed", () => {
  const log = new SettingsLog();
  const first = configured("observe", [{ name: "cart", maxReplicas: 5 }]);
  expect(log.look(first, "kubectl-patch", 1)).toEqual([]);
  expect(log.look(first, "kubectl-patch", 2)).toEqual([]);
  const next = configured("act", [{ name: "cart", maxReplicas: 9 }, { name: "pay" }]);
  const events = log.look(next, "argocd-controller", 3).map((event) => AuditEvent.parse(event));
  expect(events.map((event) => [event.service, eventText(event)])).toEqual([
    ["front", "mode observe → act by argocd-controller"],
    ["cart", "bounds 1 to 5 → 1 to 9 by argocd-controller"],
    ["pay", "bounds default → 1 to 100 by argocd-controller"],
  ]);
  expect(log.look(next, undefined, 4)).toEqual([]);
});

it("notes nothing of an application that went and comes again, as at its first sight", () => {
  const log = new SettingsLog();
  log.look(configured("observe", []), undefined, 1);
  log.forget({ namespace: "shop", application: "hotel" });
  expect(log.look(configured("act", []), undefined, 2)).toEqual([]);
});

it("takes as the editor of an Application the field manager that wrote its spec last, not the one of its status", () => {
  const field = (manager: string, time: string, part: string, subresource?: string) => ({
    manager,
    time,
    fieldsV1: { [`f:${part}`]: {} },
    ...(subresource !== undefined && { subresource }),
  });
  const { metadata } = Resource.parse({
    metadata: {
      name: "hotel",
      namespace: "shop",
      managedFields: [
        field("helm", "2026-11-01T00:00:00Z", "spec"),
        field("kubectl-edit", "2026-11-02T00:00:00Z", "spec"),
        field("kubectl-annotate", "2026-11-03T00:00:00Z", "metadata"),
        field("tradewind", "2026-11-04T00:00:00Z", "status", "status"),
      ],
    },
    spec: {},
  });
  expect(annotatedIn(metadata).editor).toBe("kubectl-edit");
});
