import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { installed } from "../installed.ts";
import { AgentOn } from "./agent-on.ts";
import { LAYOUTS } from "./tree/layouts.ts";
import { resctrlFiles } from "./tree/resctrl.ts";
import { Tree } from "./tree/plant.ts";
import { situation, V2 } from "./tree/situation.ts";

const GOLDEN = join(dirname(import.meta.dirname), "golden", "agent");
const promtool = installed("promtool");

/** Compares with a file under test/golden/agent; `UPDATE_GOLDEN=1` writes it anew. */
function expectGolden(name: string, text: string): void {
  const path = join(GOLDEN, name);
  if (process.env["UPDATE_GOLDEN"] === "1") {
    mkdirSync(GOLDEN, { recursive: true });
    writeFileSync(path, text);
  }
  expect(text).toBe(readFileSync(path, "utf8"));
}

/** The agent's own cost differs from run to run: its names stay, its values go. */
const VOLATILE =
  /^(tradewind_agent_(?:\w*duration_seconds\w*|\w*cost\w*|cpu_seconds_total|resident_memory_bytes|watched_directories|slow_samples_total)(?:\{[^}]*\})?) .*$/gm;

function steady(text: string): string {
  return text.replaceAll(VOLATILE, "$1 -").replaceAll(/^(tradewind_agent_build_info)\{.*$/gm, "$1 -");
}

let tree: Tree;
beforeEach(() => {
  tree = new Tree();
});
afterEach(() => tree[Symbol.dispose]());

/** Three cycles of a node that gets busier. */
function threeCycles(on: AgentOn, layout = V2): void {
  on.cycle();
  on.cycle(
    1,
    situation(
      layout,
      { busySeconds: 401, idleSeconds: 4003, receivedBytes: 1.1e9 },
      { cpuSeconds: 100.25, cpuWaitSeconds: 2.1 },
    ),
  );
  on.cycle(
    1,
    situation(
      layout,
      {
        busySeconds: 404,
        idleSeconds: 4004,
        receivedBytes: 1.2e9,
        cpuWaitSeconds: 3.5,
        availableBytes: 1e10,
      },
      { cpuSeconds: 100.5, cpuWaitSeconds: 2.4, memoryBytes: 400 * 1024 * 1024 },
    ),
  );
}

const CASES = [
  ["v2", V2, {}],
  ["v1", LAYOUTS.find(({ mode }) => mode === "v1")!, {}],
  ["hybrid", LAYOUTS.find(({ mode }) => mode === "hybrid")!, {}],
  ["resctrl", V2, resctrlFiles()],
] as const;

describe.each(CASES)("/metrics on %s", (name, layout, more) => {
  it.each(["text", "openmetrics"] as const)("in %s is the golden text", (format) => {
    tree.plant({ ...situation(layout, {}, {}), ...more });
    using on = new AgentOn(tree);
    threeCycles(on, layout);
    expectGolden(`${name}.${format}.prom`, steady(on.metrics(format)));
  });

  test.skipIf(promtool === undefined)("is clean under promtool check metrics", () => {
    tree.plant({ ...situation(layout, {}, {}), ...more });
    using on = new AgentOn(tree);
    threeCycles(on, layout);
    const checked = execFileSync(promtool!, ["check", "metrics"], { input: on.metrics(), encoding: "utf8" });
    expect(checked).toBe("");
  });
});

test("every counter ends in _total, every other family does not, and no label is unbounded", () => {
  tree.plant({ ...situation(V2, {}, {}), ...resctrlFiles() });
  using on = new AgentOn(tree);
  threeCycles(on);
  const text = on.metrics();
  for (const [, family, kind] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    expect(family!.endsWith("_total")).toBe(kind === "counter");
  }
  const labels = new Set([...text.matchAll(/[{,]([a-z_]+)="/g)].map(([, label]) => label));
  expect([...labels].toSorted((a = "", b = "") => (a < b ? -1 : 1))).toEqual([
    "cache",
    "collector",
    "component",
    "container_id",
    "device",
    "group",
    "le",
    "mode",
    "nodeversion",
    "numa_node",
    "pod_uid",
    "probe",
    "qos_class",
    "resource",
    "runtime",
    "version",
  ]);
});
