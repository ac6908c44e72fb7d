import { describe, expect, it } from "vitest";
import type { RunReport } from "@tradewind/core/contract/run-report.ts";
import { renderVerdict } from "@tradewind/local/screen/verdict.ts";

function report(policy: string, over: number, costPerHour: number): RunReport {
  return {
    version: "0.1.0",
    seed: 3,
    policy,
    application: "hotel",
    objectiveMs: 200,
    durationS: 150,
    spans: 1,
    windows: 1,
    recommendations: 1,
    actuations: 1,
    keda: { rpcs: 1, errors: 0, p99Ms: 1 },
    agent: { samples: 1, cpuRatio: 0, rssBytes: 1 },
    phases: [
      {
        name: "surge",
        fromS: 0,
        toS: 150,
        requests: 8_000,
        failed: 0,
        p95Ms: 30,
        violationRatio: over / 8_000,
        replicasMean: 8,
        cpuCoresMean: 1,
        allocatedCpuCoresMean: 1.5,
        allocatedMemoryBytesMean: 2 ** 31,
      },
    ],
    totals: { secondsOver: 2.5, costPerHour, starts: 4, stops: 2 },
  };
}

describe("renderVerdict", () => {
  it("puts both runs side by side and says what ours cost and missed against the rival", () => {
    const text = renderVerdict({
      recorded: false,
      rival: report("hpa:60", 19, 0.1),
      ours: report("auto", 31, 0.09),
    });
    expect(text.split("\n")).toEqual([
      "Same load (hotel, seed 3, 150 s), p95 objective 200 ms. One after the other on this machine.",
      "                                   hpa:60          auto",
      "seconds over the objective            2.5           2.5",
      "requests over the objective   19 (0.24 %)   31 (0.39 %)",
      "requests failed                         0             0",
      "cost per hour                      0.1000        0.0900",
      "CPU given, cores                     1.50          1.50",
      "memory given                      2.0 GiB       2.0 GiB",
      "replicas started, stopped            4, 2          4, 2",
      "auto cost 10 % less than hpa:60, and 12 more requests were over the objective (31 against 19).",
      "One pair of runs on one machine: repeat it with other seeds before you believe a small difference.",
    ]);
  });

  it("says that a rival is a recording", () => {
    const text = renderVerdict({
      recorded: true,
      rival: report("hpa:60", 5, 0.1),
      ours: report("auto", 5, 0.1),
    });
    expect(text).toContain("hpa:60 is a recording (seed 3), not a run of now.");
    expect(text).toContain("auto cost as much as hpa:60, and as many requests (5) were over the objective.");
  });

  it.each([
    ["hpa:60", 0.57, 0.02],
    ["auto", 0.02, 0.57],
  ])(
    "declares itself void where requests of %s were over the objective in the warm-up",
    (policy, ofRival, ofOurs) => {
      const warmed = (name: string, violationRatio: number): RunReport => {
        const made = report(name, 5, 0.1);
        const [surge] = made.phases;
        return { ...made, phases: [{ ...surge!, name: "warmup", requests: 200, violationRatio }, surge!] };
      };
      const text = renderVerdict({
        recorded: false,
        rival: warmed("hpa:60", ofRival),
        ours: warmed("auto", ofOurs),
      });
      expect(text).toContain(
        `This machine is busy: 57 % of the requests of ${policy} were over the objective in the warm-up`,
      );
      expect(text).toContain("Do not believe this comparison.");
    },
  );

  it("claims nothing of cost where a recording has no totals", () => {
    const { totals: _totals, ...older } = report("hpa:60", 5, 0.1);
    const text = renderVerdict({ recorded: true, rival: older, ours: report("auto", 3, 0.1) });
    expect(text).toContain("auto: 2 fewer requests were over the objective (3 against 5).");
  });
});
