import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { AgentOn } from "../agent-on.ts";
import { v2Files } from "../tree/cgroup-text.ts";
import { pressure, procStat } from "../tree/kernel-text.ts";
import { LAYOUTS } from "../tree/layouts.ts";
import { nodeFiles, QUIET_NODE } from "../tree/node.ts";
import { Tree } from "../tree/plant.ts";
import type { Files } from "../tree/plant.ts";
import { situation, USE, V2 } from "../tree/situation.ts";

let tree: Tree;
beforeEach(() => {
  tree = new Tree();
});
afterEach(() => tree[Symbol.dispose]());

const container = (metric: string, id: string): string =>
  `tradewind_container_${metric}{container_id="${id}"}`;

describe.each(LAYOUTS)("$name", (layout) => {
  test("every container is read in full, in base units", () => {
    tree.plant(situation(layout, {}, {}));
    using on = new AgentOn(tree, { cgroupRoots: [...(layout.cgroupRoots ?? [])] });
    on.cycle();
    on.cycle(1, situation(layout, {}, { cpuSeconds: 100.25, cpuWaitSeconds: 2.1 }));
    const { containers } = on.snapshot();
    expect(containers).toHaveLength(layout.containers.length);
    for (const { id, podUid, qosClass } of layout.containers) {
      const found = containers.find((each) => each.id === id);
      expect(found).toMatchObject({
        podUid,
        cpu: { limitCores: 0.5, usageSecondsTotal: 100.25, periodsTotal: 600, throttledPeriodsTotal: 7 },
        memory: {
          limitBytes: 512 * 1024 * 1024,
          usageBytes: 300 * 1024 * 1024,
          workingSetBytes: 200 * 1024 * 1024,
          majorFaultsTotal: 12,
          refaultsTotal: 34,
          oomKillsTotal: 1,
        },
        io: { readBytesTotal: 12_288, writtenBytesTotal: 4096 },
      });
      expect(found?.qosClass).toBe(qosClass);
      expect(found?.cpu.throttledSecondsTotal).toBeCloseTo(0.4, 9);
      expect(found?.cpu.usageCores).toBeCloseTo(0.25, 6);
      // Upstream v1 has no pressure by cgroup: absent, not 0.
      expect(found?.cpu.pressureWaitingSecondsTotal).toBe(layout.mode === "v1" ? undefined : 2.1);
      expect(found?.memory.pressureWaitingSecondsTotal).toBe(layout.mode === "v1" ? undefined : 0.25);
      expect(found?.interference.cpu.supported).toBe(true);
    }
  });
});

test.each([
  { cpuLimitCores: 0.1, misses: true },
  { cpuLimitCores: 2, misses: false },
])(
  "a movement of 0.03 cores matters to a container of $cpuLimitCores: $misses",
  ({ cpuLimitCores, misses }) => {
    tree.plant(situation(V2, {}, { cpuLimitCores }));
    using on = new AgentOn(tree);
    on.cycle();
    let cpuSeconds = 100;
    for (let second = 0; second < 120; second += 1) {
      cpuSeconds += second % 60 < 30 ? 0.02 : 0.05;
      on.cycle(1, situation(V2, {}, { cpuLimitCores, cpuSeconds }));
    }
    const missed = on.metric('tradewind_agent_container_probe_misses_total{probe="cpu"}') ?? Number.NaN;
    expect(missed > 0).toBe(misses);
  },
);

test("values of an idle pod's container are at most a minute old", () => {
  const pod = V2.containers[0]!.path.replace(/\/[^/]+$/, "");
  const idle = (seconds: number): Files => ({
    ...situation(V2, {}, { cpuSeconds: 100 + 0.002 * seconds }),
    ...v2Files(`cgroup${pod}`, { cpuSeconds: 100 + 0.002 * seconds }),
  });
  tree.plant(idle(0));
  using on = new AgentOn(tree);
  const ages: number[] = [];
  for (let second = 1; second <= 600; second += 1) {
    on.cycle(1, idle(second));
    ages.push(...on.snapshot().containers.map(({ ageSeconds }) => ageSeconds));
  }
  expect(Math.max(...ages)).toBeLessThanOrEqual(61);
  expect(on.snapshot().containers[0]?.cpu.usageSecondsTotal).toBeGreaterThan(101);
});

describe("what is not there", () => {
  test("a kernel without pressure: supported 0, no series, no error, interference without it", () => {
    const without = (files: Files): Files =>
      Object.fromEntries(Object.entries(files).filter(([path]) => !path.startsWith("proc/pressure")));
    tree.plant(without(situation(V2, {}, {})));
    using on = new AgentOn(tree);
    on.cycle();
    on.cycle(1, without(nodeFiles({ ...QUIET_NODE, busySeconds: 402, idleSeconds: 4002 })));
    expect(on.metric('tradewind_agent_collector_supported{collector="pressure"}')).toBe(0);
    expect(on.metrics()).not.toContain("tradewind_node_pressure");
    expect(on.metric('tradewind_agent_collector_failures_total{collector="pressure"}')).toBe(0);
    expect(on.snapshot().interference.cpu).toMatchObject({ supported: true, source: "others-share+steal" });
  });

  test("a collector without a source has no interval, samples or cost, although others have its place in the schedule", () => {
    tree.plant(situation(V2, {}, {}));
    using on = new AgentOn(tree);
    for (let cycle = 0; cycle < 3; cycle += 1) on.cycle();
    // Containers that come later get the places of what went.
    const { path, id } = V2.containers[0]!;
    for (const each of "cdef") on.cycle(1, v2Files(`cgroup${path.replace(id, each.repeat(64))}`, USE));
    on.agent.rescan();
    for (let cycle = 0; cycle < 20; cycle += 1) on.cycle();
    const lines = on.metrics().split("\n");
    const unsupported = lines.flatMap(
      (line) => /^tradewind_agent_collector_supported\{collector="(\w+)"\} 0$/.exec(line)?.[1] ?? [],
    );
    expect(unsupported).toEqual(["numa", "resctrl", "thermal"]);
    for (const each of unsupported) {
      for (const name of [
        "samples_total",
        "misses_total",
        "cost_seconds_total",
        "sampling_interval_seconds",
      ]) {
        expect(on.metric(`tradewind_agent_collector_${name}{collector="${each}"}`)).toBeUndefined();
      }
    }
  });

  test("no resctrl: memory bandwidth is not supported and has no value", () => {
    tree.plant(situation(V2, {}, {}));
    using on = new AgentOn(tree);
    on.cycle();
    expect(on.snapshot().interference.memoryBandwidth).toEqual({ supported: false });
    expect(on.metric('tradewind_node_interference_supported{component="memoryBandwidth"}')).toBe(0);
    expect(on.metric('tradewind_node_interference_ratio{component="memoryBandwidth"}')).toBeUndefined();
  });

  test("no cgroup file system at all: the node is sampled all the same", () => {
    tree.plant(nodeFiles(QUIET_NODE));
    using on = new AgentOn(tree);
    on.cycle();
    expect(on.snapshot().containers).toEqual([]);
    expect(on.snapshot().capacity).toEqual({ cpuCores: 4, memoryBytes: 16 * 1024 ** 3 });
  });

  test("an empty procfs: not ready, and says what is missing", () => {
    tree.plant({ "cgroup/cgroup.controllers": "cpu\n" });
    using on = new AgentOn(tree);
    on.cycle();
    expect(on.agent.notReady()).toContain("CPUs");
    expect(on.metric('tradewind_agent_collector_supported{collector="cpu"}')).toBe(0);
  });

  test("half a first cycle: not ready, since nobody knows yet what is supported", () => {
    tree.plant(situation(V2, {}, {}));
    using on = new AgentOn(tree);
    const said = new Set<string | undefined>();
    while (!on.agent.sample(-1)) said.add(on.agent.notReady());
    expect(said).toContain("not everything has been read once yet");
    expect(said).not.toContain(undefined);
    expect(on.agent.notReady()).toBeUndefined();
  });

  test("a container without io and memory controllers keeps what it has", () => {
    tree.plant(situation(V2, {}, {}));
    const folder = `cgroup${V2.containers[0]!.path}`;
    for (const name of [
      "io.stat",
      "memory.stat",
      "memory.current",
      "memory.events",
      "memory.max",
      "io.pressure",
    ]) {
      tree.remove(`${folder}/${name}`);
    }
    using on = new AgentOn(tree);
    for (let cycle = 0; cycle < 30; cycle += 1) on.cycle();
    const { id } = V2.containers[0]!;
    expect(on.metric(container("cpu_usage_seconds_total", id))).toBe(100);
    expect(on.metric(container("memory_usage_bytes", id))).toBeUndefined();
    expect(on.metric(container("io_read_bytes_total", id))).toBeUndefined();
    expect(on.metric("tradewind_agent_container_read_failures_total")).toBe(0);
  });
});

describe("what breaks", () => {
  test("an unreadable or malformed source loses its series and signals, is counted, and comes back", () => {
    tree.plant(situation(V2, {}, {}));
    using on = new AgentOn(tree);
    on.cycle();
    expect(on.metric("tradewind_node_memory_size_bytes")).toBe(16 * 1024 ** 3);
    on.cycle(1, { "proc/meminfo": "\0\0garbage" });
    expect(on.metric("tradewind_node_memory_size_bytes")).toBeUndefined();
    expect(on.metric('tradewind_agent_collector_success{collector="memory"}')).toBe(0);
    expect(on.metric('tradewind_agent_collector_supported{collector="memory"}')).toBe(1);
    expect(on.metric('tradewind_agent_collector_failures_total{collector="memory"}')).toBe(1);
    expect(on.metric('tradewind_agent_collector_success{collector="cpu"}')).toBe(1);
    on.cycle(1, nodeFiles(QUIET_NODE));
    expect(on.metric("tradewind_node_memory_size_bytes")).toBe(16 * 1024 ** 3);
    expect(on.metric('tradewind_agent_collector_success{collector="memory"}')).toBe(1);
  });

  test("a source that stays away for 90 s no longer speaks in signals and interference", () => {
    tree.plant(situation(V2, {}, {}));
    using on = new AgentOn(tree);
    on.cycle();
    expect(on.snapshot().signals["memory.usedRatio"]).toBeDefined();
    tree.plant({ "proc/meminfo": "nothing" });
    for (let cycle = 0; cycle < 95; cycle += 1) on.cycle();
    const { signals, interference, capacity } = on.snapshot();
    expect(signals["memory.usedRatio"]).toBeUndefined();
    expect(interference.memoryCapacity).toMatchObject({ source: "psi" });
    expect(capacity.memoryBytes).toBe(16 * 1024 ** 3);
  });

  test("a container with a malformed file keeps its other files", () => {
    tree.plant(situation(V2, {}, {}));
    const { path, id } = V2.containers[0]!;
    using on = new AgentOn(tree);
    on.cycle();
    on.cycle();
    const memory = ["memory_usage_bytes", "memory_page_faults_total", "memory_out_of_memory_kills_total"];
    const shown = (): (number | undefined)[] => memory.map((name) => on.metric(container(name, id)));
    expect(shown()).toEqual([300 * 1024 * 1024, 9120, 1]);
    tree.plant({ [`cgroup${path}/memory.current`]: "not a number" });
    for (let cycle = 0; cycle < 60; cycle += 1) on.cycle();
    expect(on.metric("tradewind_agent_container_read_failures_total")).toBeGreaterThan(0);
    expect(on.metric(container("cpu_usage_seconds_total", id))).toBe(100);
    expect(shown()).toEqual([undefined, undefined, undefined]);
    expect(on.snapshot().containers.find((each) => each.id === id)?.memory.usageBytes).toBeUndefined();
    tree.plant(situation(V2, {}, {}));
    for (let cycle = 0; cycle < 60; cycle += 1) on.cycle();
    expect(shown()).toEqual([300 * 1024 * 1024, 9120, 1]);
  });

  test("a container whose files are all malformed has no values of them left", () => {
    tree.plant(situation(V2, {}, {}));
    using on = new AgentOn(tree);
    on.cycle();
    on.cycle();
    const { path, id } = V2.containers[0]!;
    const garbage = Object.keys(v2Files(`cgroup${path}`, USE)).map((file) => [file, "garbage"]);
    tree.plant(Object.fromEntries(garbage) as Files);
    for (let cycle = 0; cycle < 60; cycle += 1) on.cycle();
    const left = on.metrics().match(new RegExp(`^tradewind_container_\\w+(?=\\{container_id="${id}")`, "gm"));
    expect([...new Set(left)].toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      "tradewind_container_info",
      "tradewind_container_interference_ratio",
      "tradewind_container_interference_seconds_total",
      "tradewind_container_last_sample_timestamp_seconds",
    ]);
  });

  it.each<[string, (file: string) => void]>([
    ["is malformed", (file) => void tree.plant({ [file]: "some" })],
    ["goes", (file) => tree.remove(file)],
  ])("a container whose pressure %s is no longer disturbed by its last value", (_what, breaks) => {
    // Past so many, files are opened for each read: one that is held here could still be read when it is gone.
    using on = new AgentOn(tree.plant(situation(V2, {}, {})), { maxOpenFiles: 16 });
    const { path, id } = V2.containers[1]!;
    const file = `cgroup${path}/cpu.pressure`;
    const interference = container("interference_ratio", id).replace("}", ',component="cpu"}');
    const cycleTo = (second: number, files: Files = {}): void => {
      const node = { ...QUIET_NODE, busySeconds: 400 + 2 * second, idleSeconds: 4000 + 2 * second };
      on.cycle(1, { ...nodeFiles(node), ...files });
    };
    for (let second = 0; second <= 30; second += 1) cycleTo(second, { [file]: pressure(2 + 0.8 * second) });
    expect(on.metric(interference)).toBeGreaterThan(0.8);
    breaks(file);
    for (let second = 31; second <= 211; second += 1) cycleTo(second);
    expect(on.metric(container("cpu_pressure_waiting_seconds_total", id))).toBeUndefined();
    expect(on.metric(interference)).toBeCloseTo(0.5, 1);
  });

  test("a cgroup that vanishes between being found and being read leaves nothing", () => {
    tree.plant(situation(V2, {}, {}));
    using on = new AgentOn(tree);
    tree.remove(`cgroup${V2.containers[0]!.path}`);
    on.cycle();
    expect(on.snapshot().containers.map(({ id }) => id)).toEqual([V2.containers[1]!.id]);
    expect(on.metrics()).not.toContain(V2.containers[0]!.id);
    expect(on.metric("tradewind_agent_containers_removed_total")).toBe(1);
  });

  test("a removed container leaves no series, no descriptor and no signal; a new one is there after the next look", () => {
    tree.plant(situation(V2, {}, {}));
    using on = new AgentOn(tree);
    on.cycle();
    const [first, second] = V2.containers;
    tree.remove(`cgroup${first!.path}`);
    on.agent.rescan();
    on.cycle();
    expect(on.metrics()).not.toContain(first!.id);
    tree.remove(`cgroup${second!.path}`);
    on.agent.rescan();
    on.cycle();
    const empty = ["open_files", "signals"].map((name) => on.metric(`tradewind_agent_${name}`));
    tree.plant(situation(V2, {}, {}));
    on.agent.rescan();
    on.cycle();
    expect(on.snapshot().containers).toHaveLength(2);
    for (const { path } of V2.containers) tree.remove(`cgroup${path}`);
    on.agent.rescan();
    on.cycle();
    expect(["open_files", "signals"].map((name) => on.metric(`tradewind_agent_${name}`))).toEqual(empty);
  });

  test("closing gives every descriptor back", () => {
    tree.plant(situation(V2, {}, {}));
    const on = new AgentOn(tree);
    on.cycle();
    expect(on.metric("tradewind_agent_open_files")).toBeGreaterThan(20);
    on.agent.close();
    expect(on.metric("tradewind_agent_open_files")).toBe(0);
  });

  it.each([
    ["a container that restarts in place", { cpuSeconds: 3 }],
    ["a counter that goes back", { cpuSeconds: 99.9 }],
  ])("%s gives no negative and no invented rate", (_what, use) => {
    tree.plant(situation(V2, {}, { cpuSeconds: 100 }));
    using on = new AgentOn(tree);
    on.cycle();
    on.cycle(1, situation(V2, {}, { cpuSeconds: 100.25 }));
    on.cycle(15, situation(V2, {}, use));
    const [found] = on.snapshot().containers;
    expect(found?.cpu.usageSecondsTotal).toBe(use.cpuSeconds);
    expect(found?.cpu.usageCores).toBeCloseTo(0.25, 6);
  });

  test("a step of the wall clock changes neither rates nor ages", () => {
    tree.plant(situation(V2, { busySeconds: 400 }, { cpuSeconds: 100 }));
    using on = new AgentOn(tree);
    on.cycle();
    on.clock.stepWall(-3_600_000);
    on.cycle(1, situation(V2, { busySeconds: 401, idleSeconds: 4003 }, { cpuSeconds: 100.25 }));
    const { containers, signals } = on.snapshot();
    expect(containers[0]?.cpu.usageCores).toBeCloseTo(0.25, 6);
    expect(containers[0]?.ageSeconds).toBeLessThan(2);
    expect(signals["cpu.busyRatio"]?.value).toBeCloseTo(0.25, 6);
    expect(signals["cpu.busyRatio"]?.ageSeconds).toBe(0);
  });

  test("steal that steps back a little is no time passed; a rebooted counter gives no rate", () => {
    tree.plant(situation(V2, { stealSeconds: 10 }, {}));
    using on = new AgentOn(tree);
    on.cycle();
    on.cycle(1, situation(V2, { busySeconds: 402, idleSeconds: 4002, stealSeconds: 9.5 }, {}));
    expect(on.snapshot().signals["cpu.stealRatio"]?.value).toBe(0);
    on.cycle(1, situation(V2, { busySeconds: 1, idleSeconds: 2, stealSeconds: 0 }, {}));
    expect(on.snapshot().signals["cpu.busyRatio"]).toBeUndefined();
  });

  it.each(["iowait", "idle", "steal"])(
    "the counter of %s shows no step back, and goes on after it",
    (mode) => {
      const spent = (seconds: number): Files => ({
        "proc/stat": procStat(4, {
          user: 300,
          system: 100,
          idle: 4000,
          iowait: 9,
          steal: 9,
          [mode]: seconds,
        }),
      });
      const series = `tradewind_node_cpu_seconds_total{mode="${mode}"}`;
      tree.plant({ ...situation(V2, {}, {}), ...spent(10) });
      using on = new AgentOn(tree);
      on.cycle();
      on.cycle(1, spent(9.99));
      expect(on.metric(series)).toBe(10);
      on.cycle(1, spent(10.49));
      expect(on.metric(series)).toBeCloseTo(10.5, 9);
      on.cycle(1, spent(0));
      on.cycle(1, spent(2));
      expect(on.metric(series)).toBeCloseTo(12.5, 9);
    },
  );

  const idOf = (at: number): string => at.toString(16).padStart(64, "0");

  test("ten thousand cgroups are found and sampled, with bounded descriptors", { timeout: 60_000 }, () => {
    const files: Record<string, string> = { "cgroup/cgroup.controllers": "cpu\n" };
    for (let at = 0; at < 10_000; at += 1) {
      const folder = `cgroup/kubepods/pod${at % 500}/${idOf(at)}`;
      files[`${folder}/cpu.stat`] = `usage_usec ${at}000000\nuser_usec 1\nsystem_usec 1\n`;
    }
    tree.plant({ ...nodeFiles(QUIET_NODE), ...files });
    using on = new AgentOn(tree, { maxOpenFiles: 256 });
    on.cycle();
    expect(on.snapshot().containers).toHaveLength(10_000);
    const text = on.metrics();
    expect(Number(/^tradewind_agent_open_files (\d+)$/m.exec(text)?.[1])).toBeLessThanOrEqual(256);
    expect(text).toContain(`${container("cpu_usage_seconds_total", idOf(77))} 77\n`);
  });
});

test("containers of a pod that a reader asks for are read every second for a minute, others not", () => {
  const use = (second: number): Files => situation(V2, {}, { cpuSeconds: 100 + 0.2 * second });
  tree.plant(use(0));
  using on = new AgentOn(tree);
  let now = 0;
  const run = (seconds: number): void => {
    for (const end = now + seconds; now < end;) on.cycle(1, use((now += 1)));
  };
  const [asked, other] = V2.containers;
  const ages = (): number[] => {
    const { containers } = on.snapshot();
    return [asked, other].map((each) => containers.find(({ id }) => id === each?.id)!.ageSeconds);
  };
  run(301);
  on.agent.hasten(new Map([[asked!.podUid, 1]]));
  const old: number[][] = [];
  for (let second = 0; second < 50; second += 1) {
    run(1);
    old.push(ages());
  }
  expect(Math.max(...old.map(([age]) => age!))).toBeLessThan(2);
  expect(Math.max(...old.map(([, age]) => age!))).toBeGreaterThan(10);
  run(120);
  old.length = 0;
  for (let second = 0; second < 60; second += 1) {
    run(1);
    old.push(ages());
  }
  expect(Math.max(...old.map(([age]) => age!))).toBeGreaterThan(10);
});
