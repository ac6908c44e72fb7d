import { describe, expect, it } from "vitest";
import { parsePolicy } from "@tradewind/local/policy.ts";
import { LocalOptions } from "@tradewind/local/options.ts";

describe("parsePolicy", () => {
  it("reads Tradewind's policies, an HPA on CPU in percent and KEDA on requests per second", () => {
    expect(parsePolicy("auto")).toEqual({ kind: "tradewind", policy: "auto" });
    expect(parsePolicy("students")).toEqual({ kind: "tradewind", policy: "auto", isByStudents: true });
    expect(parsePolicy("hpa:60")).toEqual({ kind: "hpa", cpuRatio: 0.6 });
    expect(parsePolicy("keda-rps:12.5")).toEqual({ kind: "keda-rps", requestsPerSecond: 12.5 });
  });

  it.each(["", "hpa", "hpa:0", "hpa:101", "hpa:-5", "keda-rps:0", "keda-rps:x", "planner", "auto:1"])(
    "refuses '%s' and lists the forms",
    (text) => {
      expect(() => parsePolicy(text)).toThrow(
        "write one of auto, queue, static, students, hpa:PERCENT, keda-rps:RATE",
      );
    },
  );
});

describe("a policy of earlier releases", () => {
  it("is refused with the name of the one that took its place", () => {
    expect(() => parsePolicy("plan")).toThrow("policy 'plan' was removed; use 'auto'");
  });
});

describe("the options of a local run", () => {
  it("take a policy or the report of a run to compare with", () => {
    expect(LocalOptions.parse({ compare: "keda-rps:20" }).compare).toBe("keda-rps:20");
    expect(LocalOptions.parse({ compare: "runs/hpa.json" }).compare).toBe("runs/hpa.json");
    expect(LocalOptions.safeParse({ compare: "hpa" }).error?.issues[0]?.message).toContain(
      "'hpa' is no policy",
    );
  });

  it("name the policies when --policy is not understood", () => {
    const result = LocalOptions.safeParse({ policy: "hpa" });
    expect(result.error?.issues[0]?.message).toContain("'hpa' is no policy");
  });

  it("refuse students that may not decide", () => {
    expect(LocalOptions.safeParse({ policy: "students" }).success).toBe(true);
    expect(LocalOptions.safeParse({ policy: "students", silence: "hold" }).success).toBe(false);
  });

  it("refuse an application that does not exist", () => {
    expect(LocalOptions.safeParse({ application: "bank" }).success).toBe(false);
    expect(LocalOptions.parse({ application: "shop" }).application).toBe("shop");
  });
});
