import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bindAdapterToLoopback, keepTriggers } from "./build/go-module.ts";
import { Progress } from "./build/progress.ts";
import { cacheFolder } from "./programs.ts";

/** The shape of KEDA's `scalers_builder.go`. */
const builder = (triggers: readonly string[]): string => `before
	// TRIGGERS-START
	switch triggerType {
${triggers.map((name) => `	case "${name}":\n		return scalers.New(config)\n`).join("")}	default:
		return nil, fmt.Errorf("no scaler found")
	}
	// TRIGGERS-END
after`;
const KEPT = ["cpu", "cron", "external", "external-mock", "external-push", "kubernetes-workload", "memory"];

describe("KEDA's sources", () => {
  it("keep the triggers that tests use, the default and everything around", () => {
    expect(keepTriggers(builder(["aws-sqs-queue", ...KEPT, "temporal"]))).toBe(builder(KEPT));
  });

  it("are refused when a trigger that tests use has gone, or the list looks different", () => {
    expect(() => keepTriggers(builder(KEPT.slice(1)))).toThrow(/has 6 of the 7 triggers/);
    expect(() => keepTriggers("package scaling")).toThrow(/TRIGGERS-START/);
  });

  it("are changed so that the adapter's metrics are on loopback, or refused", () => {
    expect(bindAdapterToLoopback('addr := fmt.Sprintf(":%v", metricsAPIServerPort)')).toBe(
      'addr := fmt.Sprintf("127.0.0.1:%v", metricsAPIServerPort)',
    );
    expect(() => bindAdapterToLoopback("package main")).toThrow(/binds its metrics differently/);
  });
});

it("a build says every 15 s how far it is and, after a twentieth of the packages, how long it will still take", () => {
  const said: string[] = [];
  let nowMs = 0;
  const progress = new Progress(
    100,
    (line) => void said.push(line),
    () => nowMs,
  );
  for (let built = 1; built <= 100; built += 1) {
    nowMs += 4_000;
    progress.line(`k8s.io/api/v${built}`);
    progress.line("go: downloading k8s.io/api v0.35.4");
  }
  expect(said).toHaveLength(25);
  expect(said[0]).toBe("4 of 100 packages in 16 s");
  expect(said[1]).toBe("8 of 100 packages in 32 s, about 6 min left");
  expect(said.at(-1)).toBe("100 of 100 packages in 7 min, linking");
});

it.each([
  ["the folder that is named", { TRADEWIND_CLUSTER_CACHE: "/named", XDG_CACHE_HOME: "/caches" }, "/named"],
  ["the user's folder for caches", { XDG_CACHE_HOME: "/caches" }, join("/caches", "tradewind-cluster")],
])("programs are kept in %s", (_what, env, expected) => {
  expect(cacheFolder(env)).toBe(expected);
});
