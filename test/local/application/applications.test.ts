import { describe, expect, it } from "vitest";
import { APPLICATION_NAMES, applicationOf } from "@tradewind/local/application/applications.ts";
import { calleesOf, serviceOf } from "@tradewind/local/application/topology.ts";
import { shippedTrace } from "@tradewind/local/load/trace.ts";

describe.each(APPLICATION_NAMES)("the application %s", (name) => {
  const topology = applicationOf(name);

  it("calls only routes that exist, reaches every service from its entry and has no cycle", () => {
    const seen = new Set<string>();
    const visit = (service: string, route: string, path: readonly string[]): void => {
      expect(path).not.toContain(service);
      const found = serviceOf(topology, service).routes[route];
      expect(found, `${service} ${route}`).toBeDefined();
      seen.add(service);
      for (const call of found?.stages.flat() ?? []) visit(call.service, call.route, [...path, service]);
    };
    for (const { route } of topology.flows) visit(topology.entry, route, []);
    expect([...seen].sort()).toEqual(topology.services.map((each) => each.name).sort());
  });

  it("has shares of flows that add up to 1 and a trace of its own", () => {
    expect(topology.flows.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 12);
    expect(shippedTrace(topology.load)).toHaveLength(60);
  });

  it("knows which services each one calls", () => {
    const [entry] = topology.services;
    expect(calleesOf(entry!).length).toBeGreaterThan(1);
  });
});

describe("applicationOf", () => {
  it("names the applications there are", () => {
    expect(() => applicationOf("bank")).toThrow("no application 'bank'; there are: hotel, shop");
  });
});
