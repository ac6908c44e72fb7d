import { describe, expect, it } from "vitest";
import { USER_AGENT, tellingAgent, userAgentOf } from "@tradewind/predictor/window/user-agent.ts";

describe("who asked", () => {
  it.each([
    ["kube-probe/1.34", USER_AGENT.checker],
    ["Blackbox Exporter/0.25.0", USER_AGENT.checker],
    ["GoogleStackdriverMonitoring-UptimeC", USER_AGENT.checker],
    ["Mozilla/5.0", USER_AGENT.browser],
    ["curl/8.5.0", USER_AGENT.other],
    ["/healthz", USER_AGENT.health],
    ["/readyz?verbose=1", USER_AGENT.health],
    ["/healthz-of-users", USER_AGENT.unknown],
    ["/items?health=/healthz", USER_AGENT.unknown],
    ["", USER_AGENT.unknown],
  ])("'%s' is %i", (text, userAgent) => {
    expect(userAgentOf(text)).toBe(userAgent);
  });

  it("a browser that asks for a path of health is a browser, in whichever order a span says so", () => {
    expect(tellingAgent(["/healthz", "Mozilla/5.0"])).toBe("Mozilla/5.0");
    expect(tellingAgent(["Mozilla/5.0", "/healthz", undefined])).toBe("Mozilla/5.0");
  });
});
