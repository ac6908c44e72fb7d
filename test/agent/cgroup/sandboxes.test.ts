import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { discover } from "@tradewind/agent/cgroup/discovery.ts";
import { detectHierarchies } from "@tradewind/agent/cgroup/hierarchies.ts";
import { Sandboxes } from "@tradewind/agent/cgroup/sandboxes.ts";
import { AgentOn } from "../agent-on.ts";
import { FakeClock } from "../fake-clock.ts";
import { v2Files } from "../tree/cgroup-text.ts";
import { nodeFiles, QUIET_NODE } from "../tree/node.ts";
import { Tree } from "../tree/plant.ts";
import type { Files } from "../tree/plant.ts";

const UID = "11111111-2222-4333-8444-555555555555";
const POD = `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${UID.replaceAll("-", "_")}.slice`;
const [APP, SIDECAR, SANDBOX] = ["a", "b", "c"].map((letter) => letter.repeat(64)) as [
  string,
  string,
  string,
];

let tree: Tree;
beforeEach(() => {
  tree = new Tree().plant({ ...nodeFiles(QUIET_NODE), "cgroup/cgroup.controllers": "cpu memory io pids\n" });
});
afterEach(() => tree[Symbol.dispose]());

const pathOf = (id: string): string => `${POD}/cri-containerd-${id}.scope`;

/** A container with one process; `shown` is how /proc calls its cgroup. */
function process(pid: number, id: string, comm: string, shown = `0::${pathOf(id)}`): Files {
  return {
    ...v2Files(`cgroup${pathOf(id)}`, { cpuSeconds: 1 }),
    // The agent has a process namespace of its own: others' processes are 0.
    [`cgroup${pathOf(id)}/cgroup.procs`]: "0\n",
    [`proc/${pid}/comm`]: `${comm}\n`,
    [`proc/${pid}/cgroup`]: `${shown}\n`,
  };
}

/** A pod as containerd makes it: two containers and the sandbox. */
const pod = (): Files => ({
  ...process(100, SANDBOX, "pause"),
  ...process(101, APP, "node"),
  ...process(102, SIDECAR, "envoy"),
});

const NOBODY = (): boolean => false;

function look(sandboxes: Sandboxes, isNamed: (id: string) => boolean = NOBODY): string[] {
  const { containers } = discover(detectHierarchies(tree.path("cgroup")), []);
  return sandboxes.without(containers, isNamed).map(({ id }) => id[0]!);
}

describe("an agent on a node with a pod of two containers", () => {
  it("reports the two, and not the pod's sandbox", () => {
    tree.plant(pod());
    using on = new AgentOn(tree);
    on.cycle();
    on.cycle();
    expect(
      on
        .snapshot()
        .containers.map(({ id }) => id)
        .toSorted(),
    ).toEqual([APP, SIDECAR]);
    expect(on.metric("tradewind_agent_containers")).toBe(2);
    expect(on.metrics()).not.toContain(SANDBOX);
  });

  it("takes out a sandbox that it saw before its program ran", () => {
    tree.plant({ ...pod(), "proc/100/comm": "runc:[2:INIT]\n" });
    using on = new AgentOn(tree);
    on.cycle();
    expect(on.metric("tradewind_agent_containers")).toBe(3);
    on.cycle(1, { "proc/100/comm": "pause\n" });
    on.agent.rescan();
    on.cycle();
    expect(on.metric("tradewind_agent_containers")).toBe(2);
    expect(on.metrics()).not.toContain(SANDBOX);
  });
});

describe("a sandbox", () => {
  const sandboxes = (clock = new FakeClock()): Sandboxes => new Sandboxes(tree.path("proc"), clock);

  it.each([
    ["from the root of the tree", `0::${pathOf(SANDBOX)}`],
    ["from a cgroup namespace of the reader's own", `0::/../../..${pathOf(SANDBOX)}`],
    ["by every controller of v1", `9:memory:/kubepods/burstable/pod${UID}/${SANDBOX}\n4:cpu:/`],
    ["in a flat directory", `0::/kubepods-burstable-pod${UID}.slice:cri-containerd:${SANDBOX}`],
  ])("is found where /proc names its cgroup %s", (_, shown) => {
    tree.plant({ ...pod(), ...process(100, SANDBOX, "pause", shown) });
    expect(look(sandboxes())).toEqual(["a", "b"]);
  });

  it.each([
    ["and has no other process", {}, ["a", "b"]],
    [
      "beside another process",
      { [`cgroup${pathOf(SANDBOX)}/init.scope/cgroup.procs`]: "0\n" },
      ["a", "b", "c"],
    ],
  ])("is looked for where its program runs in a cgroup below its own, %s", (_, files, expected) => {
    tree.plant({
      ...pod(),
      ...process(100, SANDBOX, "pause", `0::${pathOf(SANDBOX)}/container`),
      [`cgroup${pathOf(SANDBOX)}/cgroup.procs`]: "",
      [`cgroup${pathOf(SANDBOX)}/container/cgroup.procs`]: "0\n",
      ...files,
    });
    expect(look(sandboxes())).toEqual(expected);
  });

  it("is not the container in which the pod of another node runs", () => {
    const inner = `${pathOf(APP)}/kubelet.slice/kubelet-pod${UID.replaceAll("-", "_")}.slice/cri-containerd-d.scope`;
    tree.plant({ ...pod(), "proc/103/comm": "pause\n", "proc/103/cgroup": `0::${inner}\n` });
    expect(look(sandboxes())).toEqual(["a", "b"]);
  });

  it.each<[string, Files]>([
    ["has a second process", { [`cgroup${pathOf(SANDBOX)}/cgroup.procs`]: "0\n0\n" }],
    ["runs a program of another name", { "proc/100/comm": "pause-it\n" }],
    ["runs where its processes cannot be seen", { "proc/100/cgroup": "" }],
  ])("is not what %s", (_, files) => {
    tree.plant({ ...pod(), ...files });
    expect(look(sandboxes())).toEqual(["a", "b", "c"]);
  });

  it("is not what a source of names calls a container, as soon as it does", () => {
    tree.plant(pod());
    const one = sandboxes();
    expect(look(one)).toEqual(["a", "b"]);
    expect(look(one, (id) => id === SANDBOX)).toEqual(["a", "b", "c"]);
  });

  it.each([
    ["is gVisor's, as soon as a container is beside it", "runsc-sandbox\0boot\0", ["c"], ["a"]],
    ["is gVisor's, whose words are hidden", "", ["c"], ["a"]],
    ["is another program that started itself again", "/app/exe\0serve\0", ["c"], ["a", "c"]],
    ["is a file server of gVisor's", "runsc-gofer\0gofer\0", ["c"], ["a", "c"]],
  ])("%s", (_, cmdline, alone, beside) => {
    tree.plant({ ...process(100, SANDBOX, "exe"), "proc/100/cmdline": cmdline });
    const clock = new FakeClock();
    const one = sandboxes(clock);
    expect(look(one)).toEqual(alone);
    clock.advance(60_000);
    tree.plant(v2Files(`cgroup${pathOf(APP)}`, { cpuSeconds: 0 }));
    expect(look(one)).toEqual(beside);
  });

  it("is no longer looked for once all containers are 10 s old", () => {
    tree.plant({ ...pod(), "proc/100/comm": "sh\n" });
    const clock = new FakeClock();
    const one = sandboxes(clock);
    expect(look(one)).toHaveLength(3);
    clock.advance(10_000);
    expect(look(one)).toHaveLength(3);
    tree.plant({ "proc/100/comm": "pause\n" });
    expect(look(one)).toHaveLength(3);
  });
});
