import { renameSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AgentOn } from "../agent-on.ts";
import { netDev, schedstat, softnetStat } from "../tree/kernel-text.ts";
import { Tree } from "../tree/plant.ts";
import { resctrlFiles } from "../tree/resctrl.ts";
import { situation, V2 } from "../tree/situation.ts";

let tree: Tree;
beforeEach(() => {
  tree = new Tree().plant(situation(V2, {}, {}));
});
afterEach(() => tree[Symbol.dispose]());

function cycles(on: AgentOn, count: number): void {
  for (let cycle = 0; cycle < count; cycle += 1) on.cycle();
}

describe("resctrl", () => {
  test("bandwidth over the stated peak, less the container's own group", () => {
    tree.plant(resctrlFiles(1e12));
    using on = new AgentOn(tree, { memoryBandwidthBytesPerSecond: 50e9 });
    on.cycle();
    // In 10 s both cache domains together move 200 GB, half of it by the container's group (a quarter of each domain).
    on.cycle(10, resctrlFiles(1e12 + 100e9));
    const { interference, containers } = on.snapshot();
    expect(interference.memoryBandwidth).toEqual({ supported: true, value: 0.4, source: "resctrl" });
    const owner = containers.find(({ id }) => id.startsWith("a"))!;
    const other = containers.find(({ id }) => id.startsWith("b"))!;
    expect(owner.interference.memoryBandwidth.value).toBeCloseTo(0.3, 9);
    expect(other.interference.memoryBandwidth.value).toBeCloseTo(0.4, 9);
  });

  test("a monitoring group is part of its control group and is not counted twice", () => {
    tree.plant(resctrlFiles(1e12));
    using on = new AgentOn(tree);
    on.cycle();
    on.cycle(10, resctrlFiles(1e12 + 100e9));
    expect(on.snapshot().signals["memory.bandwidthBytesPerSecond"]?.value).toBe(20e9);
  });

  test("Unavailable, Unassigned and Error are no values, neither 0 nor failures", () => {
    tree.plant(resctrlFiles());
    using on = new AgentOn(tree);
    cycles(on, 2);
    expect(on.metrics()).not.toContain('group="/BE"');
    expect(on.metric('tradewind_agent_collector_success{collector="resctrl"}')).toBe(1);
  });

  test("the series come back after a sample that failed", () => {
    tree.plant(resctrlFiles());
    using on = new AgentOn(tree);
    const series = () => on.metrics().match(/^tradewind_node_resctrl_.*/gm)?.length ?? 0;
    cycles(on, 2);
    expect(series()).toBe(12);
    tree.plant({ "sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes": "nothing known\n" });
    cycles(on, 20);
    expect(series()).toBe(0);
    tree.plant(resctrlFiles());
    cycles(on, 20);
    expect(series()).toBe(12);
  });

  test("a group that is removed leaves no series", () => {
    tree.plant(resctrlFiles());
    using on = new AgentOn(tree);
    on.cycle();
    expect(on.metrics()).toContain('group="/mon_groups/');
    tree.remove("sys/fs/resctrl/mon_groups");
    cycles(on, 60);
    expect(on.metrics()).not.toContain('group="/mon_groups/');
  });
});

describe("network", () => {
  test("process 1's files are the node's: the reader's own namespace is not looked at", () => {
    tree.plant({ "proc/net/dev": netDev({ eth0: { receivedBytes: 1, sentBytes: 1 } }) });
    using on = new AgentOn(tree);
    on.cycle();
    expect(on.metric('tradewind_node_network_received_bytes_total{device="eth0"}')).toBe(1e9);
  });

  test("where process 1 is hidden, the namespace of the reader does not pass for the node's", () => {
    renameSync(tree.path("proc/1/net"), tree.path("proc/net"));
    using on = new AgentOn(tree);
    cycles(on, 2);
    for (const collector of ["network", "tcp", "softnet"]) {
      expect(on.metric(`tradewind_agent_collector_supported{collector="${collector}"}`)).toBe(0);
    }
    expect(on.snapshot().interference.network).toEqual({ supported: false });
  });

  test("a frame that nobody handles every other second, among 100 packets a second, is no interference", () => {
    using on = new AgentOn(tree);
    cycles(on, 2);
    for (let second = 1; second <= 20; second += 1) {
      // 1,000 bytes a packet.
      const receivedBytes = 1e9 + second * 100e3;
      on.cycle(1, situation(V2, { receivedBytes, drops: Math.ceil(second / 2) }, {}));
      expect(on.snapshot().interference.network.value).toBeLessThan(0.05);
    }
    expect(on.metric('tradewind_node_network_receive_drops_total{device="eth0"}')).toBe(10);
  });

  test("virtual interfaces do not count, unless the user states their speed", () => {
    using on = new AgentOn(tree, { linkBytesPerSecond: { lo: 1e6 } });
    on.cycle();
    expect(on.metric('tradewind_node_network_speed_bytes{device="lo"}')).toBe(1e6);
    expect(on.metric('tradewind_node_network_received_bytes_total{device="cni0"}')).toBeUndefined();
  });

  test.each(["-1\n", "", "fast\n"])("a driver that says %j tells no speed", (speed) => {
    tree.plant({ "sys/class/net/eth0/speed": speed });
    using on = new AgentOn(tree);
    cycles(on, 2);
    expect(on.metric('tradewind_node_network_speed_bytes{device="eth0"}')).toBeUndefined();
    expect(on.snapshot().interference.network.source).toBe("loss");
  });

  test("a stated speed wins over the driver's", () => {
    using on = new AgentOn(tree, { linkBytesPerSecond: { eth0: 5e6 } });
    on.cycle();
    on.cycle(1, situation(V2, { receivedBytes: 1e9 + 2.5e6 }, {}));
    expect(on.snapshot().interference.network.value).toBeCloseTo(0.5, 6);
  });

  test("a link whose speed nobody knows does not hide one whose speed is known", () => {
    tree.plant({ "sys/class/net/eth0/speed": "-1\n" });
    using on = new AgentOn(tree, { linkBytesPerSecond: { cni0: 1e9 } });
    const devices = (cni: number) =>
      netDev({
        cni0: { receivedBytes: cni, sentBytes: 0 },
        eth0: { receivedBytes: 1e9 + cni, sentBytes: 0 },
      });
    on.cycle(1, { "proc/1/net/dev": devices(0) });
    on.cycle(1, { "proc/1/net/dev": devices(0.6e9) });
    expect(on.snapshot().interference.network).toMatchObject({ source: "others-share+loss" });
    expect(on.snapshot().interference.network.value).toBeCloseTo(0.6, 9);
  });

  test("an interface that goes leaves no series", () => {
    using on = new AgentOn(tree);
    on.cycle();
    on.cycle(1, { "proc/1/net/dev": netDev({ lo: { receivedBytes: 1, sentBytes: 1 } }) });
    expect(on.metrics()).not.toContain('device="eth0"');
    expect(on.snapshot().signals["network.receivedBytesPerSecond"]).toBeUndefined();
  });
});

describe("softnet", () => {
  test("32-bit counters count on past their wrap, and a CPU that goes offline does not take the total down", () => {
    const rows = (processed: number) => softnetStat([{ processed }, { processed: 100 }]);
    tree.plant({ "proc/1/net/softnet_stat": rows(2 ** 32 - 50) });
    using on = new AgentOn(tree);
    on.cycle();
    tree.plant({ "proc/1/net/softnet_stat": rows(150) });
    cycles(on, 20);
    expect(on.metric("tradewind_node_softnet_processed_packets_total")).toBe(2 ** 32 + 150 + 100);
    tree.plant({ "proc/1/net/softnet_stat": softnetStat([{ processed: 200 }]) });
    cycles(on, 20);
    expect(on.metric("tradewind_node_softnet_processed_packets_total")).toBe(2 ** 32 + 200 + 100);
  });
});

describe("softnet of kernels that do not number its rows", () => {
  test("keeps its totals when a CPU goes, and counts on from the rows that are left", () => {
    const path = "proc/1/net/softnet_stat";
    const series = "tradewind_node_softnet_processed_packets_total";
    const rows = (...processed: number[]) =>
      softnetStat(
        processed.map((each) => ({ processed: each })),
        11,
      );
    tree.plant({ [path]: rows(1000, 2000, 4000, 8000) });
    using on = new AgentOn(tree);
    on.cycle();
    tree.plant({ [path]: rows(1000, 4000, 8000) });
    cycles(on, 20);
    expect(on.metric(series)).toBe(15_000);
    tree.plant({ [path]: rows(1001, 4010, 8100) });
    cycles(on, 20);
    expect(on.metric(series)).toBe(15_111);
    tree.plant({ [path]: rows(1001, 2000, 4010, 8100) });
    cycles(on, 20);
    expect(on.metric(series)).toBe(15_111);
  });
});

describe("a container's disks", () => {
  const { path, id } = V2.containers[0]!;
  const device = (name: string, read: number) =>
    `${name} rbytes=${read} wbytes=8 rios=2 wios=1 dbytes=0 dios=0\n`;
  const read = (on: AgentOn, ...lines: string[]): number | undefined => {
    tree.plant({ [`cgroup${path}/io.stat`]: lines.join("") });
    cycles(on, 61);
    const { io } = on.snapshot().containers.find((each) => each.id === id)!;
    return io?.readBytesTotal;
  };

  test("that go leave what was read from them, and one that begins afresh adds to it", () => {
    using on = new AgentOn(tree);
    expect(read(on, device("8:0", 1000), device("8:16", 300))).toBe(1300);
    expect(read(on, device("8:0", 1100))).toBe(1400);
    expect(read(on, device("8:0", 1200), device("8:16", 5))).toBe(1505);
    expect(read(on, device("8:0", 1200), device("8:16", 9))).toBe(1509);
  });
});

describe("a CPU that goes offline", () => {
  test("does not take the run queues' totals down", () => {
    const series = ["running_seconds", "waiting_seconds", "timeslices"];
    tree.plant({ "proc/schedstat": schedstat(2, 10, 6) });
    using on = new AgentOn(tree);
    on.cycle();
    tree.plant({ "proc/schedstat": schedstat(1, 6, 4) });
    cycles(on, 20);
    const totals = series.map((name) => on.metric(`tradewind_node_run_queue_${name}_total`));
    expect(totals).toEqual([6 + 5, 4 + 3, 2 * 174_230]);
    expect(on.snapshot().signals["cpu.waitingCores"]?.value).toBeGreaterThanOrEqual(0);
  });

  test("does not take the counts of throttles down", () => {
    tree.plant(resctrlFiles());
    using on = new AgentOn(tree);
    on.cycle();
    expect(on.metric("tradewind_node_cpu_core_throttles_total")).toBe(3 + 1);
    tree.remove("sys/devices/system/cpu/cpu1/thermal_throttle");
    tree.plant({ "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "5\n" });
    cycles(on, 60);
    expect(on.metric("tradewind_node_cpu_core_throttles_total")).toBe(5 + 1);
    expect(on.metric("tradewind_node_cpu_package_throttles_total")).toBe(4 + 4);
  });
});

describe("pods' own traffic", () => {
  const { path, podUid } = V2.containers[0]!;
  const withTraffic = (receivedBytes: number) => ({
    [`cgroup${path}/cgroup.procs`]: "4711\n4712\n",
    "proc/4711/net/dev": netDev({
      lo: { receivedBytes: 9e9, sentBytes: 9e9 },
      eth0: { receivedBytes, sentBytes: 5 },
    }),
  });

  test("is read from one of its processes, without loopback, and is not interference to itself", () => {
    tree.plant(withTraffic(1000));
    using on = new AgentOn(tree);
    on.cycle();
    on.cycle(1, { ...withTraffic(1000 + 0.5e9), ...situation(V2, { receivedBytes: 1.5e9 }, {}) });
    on.cycle();
    expect(on.metric(`tradewind_pod_network_received_bytes_total{pod_uid="${podUid}"}`)).toBe(500_001_000);
  });

  test("is found where the processes are in a cgroup below the container's", () => {
    const procs = { [`cgroup${path}/cgroup.procs`]: "", [`cgroup${path}/container/cgroup.procs`]: "4711\n" };
    tree.plant({ ...withTraffic(1000), ...procs });
    using on = new AgentOn(tree);
    on.cycle();
    expect(on.metric(`tradewind_pod_network_received_bytes_total{pod_uid="${podUid}"}`)).toBe(1000);
  });

  test("a pod on the node's own network has none of its own", () => {
    tree.plant({
      [`cgroup${path}/cgroup.procs`]: "4711\n",
      "proc/4711/net/dev": netDev({
        lo: { receivedBytes: 1, sentBytes: 1 },
        cni0: { receivedBytes: 1, sentBytes: 1 },
        eth0: { receivedBytes: 1e9, sentBytes: 1 },
      }),
    });
    using on = new AgentOn(tree);
    cycles(on, 10);
    expect(on.metrics()).not.toContain("tradewind_pod_network");
  });

  test("another process of the pod takes over when the one that was read ends", () => {
    tree.plant(withTraffic(1000));
    using on = new AgentOn(tree);
    on.cycle();
    tree.remove("proc/4711");
    tree.plant({
      [`cgroup${path}/cgroup.procs`]: "4712\n",
      "proc/4712/net/dev": netDev({
        lo: { receivedBytes: 1, sentBytes: 1 },
        eth0: { receivedBytes: 2000, sentBytes: 5 },
      }),
    });
    cycles(on, 90);
    expect(
      on.metric(`tradewind_pod_network_received_bytes_total{pod_uid="${podUid}"}`),
    ).toBeGreaterThanOrEqual(1000);
  });

  test("processes hidden behind another process namespace are no error", () => {
    tree.plant({ [`cgroup${path}/cgroup.procs`]: "0\n" });
    using on = new AgentOn(tree);
    cycles(on, 10);
    expect(on.metrics()).not.toContain("tradewind_pod_network");
    expect(on.metric("tradewind_agent_container_read_failures_total")).toBe(0);
  });
});
