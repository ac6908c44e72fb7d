import { renameSync, symlinkSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import type { AgentOptions } from "@tradewind/agent/options.ts";
import { AgentOn } from "../agent-on.ts";
import { netDev, schedstat, softnetStat } from "../tree/kernel-text.ts";
import { Tree } from "../tree/plant.ts";
import { resctrlFiles, throttleFiles } from "../tree/resctrl.ts";
import type { CoolingCpu } from "../tree/resctrl.ts";
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

  /** Bytes per second that the node's links receive when these do, MB; `setUp` lays out what sysfs says of them. */
  function receivedOver(
    links: Readonly<Record<string, number>>,
    setUp: () => void,
    options: Partial<AgentOptions> = {},
  ): number | undefined {
    const devices = (seconds: number): string =>
      netDev(
        Object.fromEntries(
          Object.entries(links).map(([name, megabytes]) => [
            name,
            { receivedBytes: megabytes * 1e6 * seconds, sentBytes: 0 },
          ]),
        ),
      );
    tree.plant({ "proc/1/net/dev": devices(1) });
    setUp();
    using on = new AgentOn(tree, options);
    on.cycle();
    for (let second = 2; second <= 5; second += 1) on.cycle(1, { "proc/1/net/dev": devices(second) });
    return on.snapshot().signals["network.receivedBytesPerSecond"]?.value;
  }
  const card = (name: string, files: Readonly<Record<string, string>> = {}): void => {
    tree.plant({ [`sys/class/net/${name}/device/uevent`]: "DRIVER=mlx5_core\n" });
    for (const [file, text] of Object.entries(files)) tree.plant({ [`sys/class/net/${name}/${file}`]: text });
  };
  const enslave = (name: string, master: string): void => {
    tree.plant({ [`sys/class/net/${name}/mtu`]: "1500\n" });
    symlinkSync(`../${master}`, tree.path(`sys/class/net/${name}/master`));
  };

  it.each<[string, Readonly<Record<string, number>>, () => void, Partial<AgentOptions>]>([
    [
      "of a virtual function below the card that stands for it",
      { eth0: 80, enP4s2: 80 },
      () => (card("enP4s2"), enslave("enP4s2", "eth0")),
      {},
    ],
    [
      "of the two halves of a virtual machine's failover pair",
      { eth0: 80, eth0nsby: 30, ens9: 50 },
      () => {
        for (const name of ["eth0nsby", "ens9"]) {
          card(name);
          enslave(name, "eth0");
        }
      },
      {},
    ],
    [
      "of a bond's cards, and not the bond's",
      { bond0: 80, eth0: 30, eth1: 50 },
      () => {
        card("eth1");
        for (const name of ["eth0", "eth1"]) enslave(name, "bond0");
      },
      {},
    ],
    [
      "of a bond whose speed is stated, and not its cards'",
      { bond0: 80, eth0: 30, eth1: 50 },
      () => {
        card("eth1");
        for (const name of ["eth0", "eth1"]) enslave(name, "bond0");
      },
      { linkBytesPerSecond: { bond0: 2.5e9 } },
    ],
    [
      "of a card, and not of the bridge, the VLAN and the pods' pairs on it",
      { eth0: 80, br0: 80, "eth0.100": 60, veth1a2b: 40, "veth3c@if2": 40 },
      () => enslave("eth0", "br0"),
      {},
    ],
    [
      "of an uplink, and not of the switch's ends of virtual functions",
      { eth0: 80, eth0_0: 30, eth0_1: 50 },
      () => {
        card("eth0", { phys_port_name: "p0\n" });
        card("eth0_0", { phys_port_name: "pf0vf0\n" });
        card("eth0_1", { phys_port_name: "c1pf0sf1\n" });
      },
      {},
    ],
  ])("the bytes count once: those %s", (_what, links, setUp, options) => {
    expect(receivedOver(links, setUp, options)).toBeCloseTo(80e6, 0);
  });

  describe("among thousands of pods' pairs", () => {
    const eth0 = (seconds: number) => ({ receivedBytes: 50e6 * seconds, sentBytes: 1e6 * seconds });
    const crowd = Object.fromEntries(
      Array.from({ length: 3000 }, (_, at) => [`veth${at}`, { receivedBytes: 1, sentBytes: 1 }]),
    );
    const statistics = (seconds: number) =>
      Object.fromEntries(
        Object.entries({
          rx_bytes: 50e6 * seconds,
          rx_packets: 50e3 * seconds,
          rx_errors: 1,
          rx_dropped: 2,
          rx_missed_errors: 3,
          tx_bytes: 1e6 * seconds,
          tx_packets: 1e3 * seconds,
          tx_errors: 4,
          tx_dropped: 5,
        }).map(([name, value]) => [`sys/class/net/eth0/statistics/${name}`, `${value}\n`]),
      );

    test("a card is read for itself, and the list of all of them every half minute", () => {
      tree.plant({ "proc/1/net/dev": netDev({ ...crowd, eth0: eth0(1) }), ...statistics(1) });
      using on = new AgentOn(tree);
      on.cycle();
      // What the list says now is not looked at.
      tree.plant({ "proc/1/net/dev": netDev({ ...crowd, eth0: eth0(900) }) });
      for (let second = 2; second <= 20; second += 1) on.cycle(1, statistics(second));
      expect(on.snapshot().signals["network.receivedBytesPerSecond"]?.value).toBeCloseTo(50e6, 0);
      expect(on.metric('tradewind_node_network_receive_drops_total{device="eth0"}')).toBe(2 + 3);
      expect(on.metric('tradewind_node_network_send_errors_total{device="eth0"}')).toBe(4);
      tree.plant({ "proc/1/net/dev": netDev({ lo: eth0(1) }) });
      for (let second = 21; second <= 40; second += 1) on.cycle(1, statistics(second));
      expect(on.metrics()).not.toContain('device="eth0"');
    });

    test("a card is read from the list where sysfs has no counters of it, and seen to go at once", () => {
      tree.plant({ "proc/1/net/dev": netDev({ ...crowd, eth0: eth0(1) }) });
      using on = new AgentOn(tree);
      on.cycle();
      on.cycle(1, { "proc/1/net/dev": netDev({ ...crowd, eth0: eth0(2) }) });
      expect(on.snapshot().signals["network.receivedBytesPerSecond"]?.value).toBeCloseTo(50e6, 0);
      on.cycle(1, { "proc/1/net/dev": netDev(crowd) });
      expect(on.metrics()).not.toContain('device="eth0"');
    });
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
    tree.remove("sys/devices/system/cpu/cpu1/topology");
    tree.remove("sys/devices/system/cpu/cpu1/thermal_throttle");
    tree.plant({ "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "5\n" });
    cycles(on, 60);
    expect(on.metric("tradewind_node_cpu_core_throttles_total")).toBe(5 + 1);
    expect(on.metric("tradewind_node_cpu_package_throttles_total")).toBe(4);
  });
});

describe("throttles to cool", () => {
  const hyperthreads = [
    { socket: 0, core: 0, coreThrottles: 7, packageThrottles: 20 },
    { socket: 0, core: 1, coreThrottles: 2, packageThrottles: 20 },
    { socket: 1, core: 0, coreThrottles: 4, packageThrottles: 5 },
    { socket: 0, core: 0, coreThrottles: 7, packageThrottles: 20 },
    { socket: 0, core: 1, coreThrottles: 2, packageThrottles: 20 },
    { socket: 1, core: 0, coreThrottles: 4, packageThrottles: 5 },
  ];
  const without = (key: keyof CoolingCpu): CoolingCpu[] =>
    hyperthreads.map((cpu) => Object.fromEntries(Object.entries(cpu).filter(([name]) => name !== key)));

  it.each<[string, readonly CoolingCpu[], number, number | undefined]>([
    ["once a core and once a package", hyperthreads, 7 + 2 + 4, 20 + 5],
    ["a CPU as a core of its own where its core is not known", without("core"), 2 * (7 + 2 + 4), 20 + 5],
    ["no package where none is known", without("socket"), 2 * (7 + 2 + 4), undefined],
    [
      "no package where the kernel says -1",
      hyperthreads.map((cpu) => ({ ...cpu, socket: -1 })),
      2 * (7 + 2 + 4),
      undefined,
    ],
    ["cores alone where packages have no counter", without("packageThrottles"), 7 + 2 + 4, undefined],
  ])("count %s", (_what, cpus, cores, packages) => {
    tree.plant(throttleFiles(cpus));
    using on = new AgentOn(tree);
    on.cycle();
    expect(on.metric("tradewind_node_cpu_core_throttles_total")).toBe(cores);
    expect(on.metric("tradewind_node_cpu_package_throttles_total")).toBe(packages);
    expect(on.metric('tradewind_agent_collector_success{collector="thermal"}')).toBe(1);
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
