import { APPLICATION_STATES, NAME_OUTCOMES } from "@tradewind/core/contract/application-list.ts";
import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { Applications } from "./applications.ts";

/** What there is to plan, and with which of it something is wrong. All of it is read from memory. */
export function registerApplications(
  registry: Registry,
  applications: Pick<Applications, "drops" | "list" | "several">,
): void {
  const registers = [registry];
  const states = new Gauge({
    name: "tradewind_predictor_applications",
    help: "Applications by state: planned, invalid (not planned) or deleted while this process ran.",
    labelNames: ["state"],
    registers,
    collect() {
      for (const state of APPLICATION_STATES) {
        this.set({ state }, applications.list().filter((each) => each.state === state).length);
      }
    },
  });
  states.reset();
  const problems = new Gauge({
    name: "tradewind_predictor_application_problem",
    help: "1 for an application with whose configuration something is wrong; /v1/applications says what.",
    labelNames: ["namespace", "application"],
    registers,
    collect() {
      this.reset();
      for (const { name, namespace = "", origin, problem } of applications.list()) {
        if (problem !== undefined) this.set({ namespace, application: name ?? origin }, 1);
      }
    },
  });
  problems.reset();
  if (!applications.several) return;
  const shared = new Gauge({
    name: "tradewind_predictor_shared_names",
    help: "Services whose name another application has too, by what follows for spans that state no namespace: keeps, yields or shared.",
    labelNames: ["namespace", "application", "outcome"],
    registers,
    collect() {
      this.reset();
      for (const { name, namespace = "", origin, sharedNames = [] } of applications.list()) {
        for (const outcome of NAME_OUTCOMES) {
          const count = sharedNames.filter((each) => each.outcome === outcome).length;
          if (count > 0) this.set({ namespace, application: name ?? origin, outcome }, count);
        }
      }
    },
  });
  shared.reset();
  const drops = new Counter({
    name: "tradewind_predictor_spans_dropped_total",
    help: "Spans or requests that were not counted, by reason.",
    labelNames: ["reason"],
    registers,
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(applications.drops())) this.inc({ reason }, count);
    },
  });
  drops.reset();
}
