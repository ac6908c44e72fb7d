import { registerReadMetrics } from "@tradewind/core/process/read-series.ts";
import { APPLICATION_STATES, NAME_OUTCOMES } from "@tradewind/core/contract/application-list.ts";
import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import { DROPPED_SPANS } from "../window/drops.ts";
import type { Applications } from "./applications.ts";

/** What there is to plan, and with which of it something is wrong. All of it is read from memory. */
export function registerApplications(
  registry: Registry,
  applications: Pick<Applications, "drops" | "list" | "several">,
): void {
  const prometheus = { Counter, Gauge };
  registerReadMetrics(registry, prometheus, [
    {
      kind: "gauge",
      name: "tradewind_predictor_applications",
      help: "Applications by state: planned, invalid (not planned) or deleted while this process ran.",
      labelNames: ["state"],
      read: () =>
        APPLICATION_STATES.map((state) => [
          { state },
          applications.list().filter((each) => each.state === state).length,
        ]),
    },
    {
      kind: "gauge",
      name: "tradewind_predictor_application_problem",
      help: "1 for an application with whose configuration something is wrong; /v1/applications says what.",
      labelNames: ["namespace", "application"],
      read: () =>
        applications
          .list()
          .filter(({ problem }) => problem !== undefined)
          .map(({ name, namespace = "", origin }) => [{ namespace, application: name ?? origin }, 1]),
    },
  ]);
  if (!applications.several) return;
  registerReadMetrics(registry, prometheus, [
    {
      kind: "gauge",
      name: "tradewind_predictor_shared_names",
      help: "Services whose name another application has too, by what follows for spans that state no namespace: keeps, yields or shared.",
      labelNames: ["namespace", "application", "outcome"],
      *read() {
        for (const { name, namespace = "", origin, sharedNames = [] } of applications.list()) {
          for (const outcome of NAME_OUTCOMES) {
            const count = sharedNames.filter((each) => each.outcome === outcome).length;
            if (count > 0) yield [{ namespace, application: name ?? origin, outcome }, count];
          }
        }
      },
    },
    {
      kind: "counter",
      ...DROPPED_SPANS,
      read: () => Object.entries(applications.drops()).map(([reason, count]) => [{ reason }, count]),
    },
  ]);
}
