import { mkdirSync } from "node:fs";
import fc from "fast-check";
import { afterEach, describe, expect, it, test } from "vitest";
import type { Logger } from "@tradewind/core/process/log.ts";
import { ContainerSearch, discover } from "@tradewind/agent/cgroup/discovery.ts";
import { detectHierarchies } from "@tradewind/agent/cgroup/hierarchies.ts";
import { classify, isKubepods, qosOf } from "@tradewind/agent/cgroup/name.ts";
import { FakeClock } from "../fake-clock.ts";
import { LAYOUTS, layoutFiles } from "../tree/layouts.ts";
import { Tree } from "../tree/plant.ts";

let tree: Tree | undefined;
afterEach(() => tree?.[Symbol.dispose]());

describe.each(LAYOUTS)("$name", (layout) => {
  test("the containers are found, with pod, class and runtime, and nothing else is", () => {
    tree = new Tree().plant(layoutFiles(layout, { cpuSeconds: 1 }));
    const hierarchies = detectHierarchies(tree.path("cgroup"));
    expect(hierarchies.mode).toBe(layout.mode);
    const { containers, roots } = discover(hierarchies, layout.cgroupRoots ?? []);
    const shown = containers
      .map(({ id, path, podUid, qosClass, runtime }) => ({ id, path, podUid, qosClass, runtime }))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
    expect(shown).toMatchObject(layout.containers);
    expect(shown).toHaveLength(layout.containers.length);
    const isFlat = layout.name.includes("flat");
    expect(roots.length > 0).toBe(!isFlat);
  });
});

test("a root that was asked for and is not there yet is no error", () => {
  tree = new Tree().plant({ "cgroup/cgroup.controllers": "cpu\n" });
  const found = discover(detectHierarchies(tree.path("cgroup")), ["/nothing-here"]);
  expect(found).toEqual({ containers: [], directories: [], roots: [], unreadable: 0 });
});

test("both drivers' roots side by side are searched", () => {
  const [systemd, cgroupfs] = LAYOUTS;
  tree = new Tree().plant({
    ...layoutFiles(systemd!, { cpuSeconds: 1 }),
    [`cgroup/kubepods/pod9/${"d".repeat(64)}/cpu.stat`]: "usage_usec 1\n",
  });
  expect(cgroupfs).toBeDefined();
  const { roots } = discover(detectHierarchies(tree.path("cgroup")), []);
  expect(roots.toSorted()).toEqual(["/kubepods", "/kubepods.slice"]);
});

test("the directories where pods come and go are told, so that they can be watched", () => {
  tree = new Tree().plant(layoutFiles(LAYOUTS[1]!, { cpuSeconds: 1 }));
  const root = tree.path("cgroup");
  const { directories } = discover(detectHierarchies(root), []);
  expect(directories.map((directory) => directory.slice(root.length)).toSorted()).toEqual([
    "/kubepods",
    "/kubepods/besteffort",
    "/kubepods/besteffort/pod11111111-2222-4333-8444-555555555555",
    "/kubepods/pod0123456789abcdef0123456789abcdef",
  ]);
});

test("a folder without any cgroup tree is refused with what to do", () => {
  tree = new Tree();
  expect(() => detectHierarchies(tree!.root)).toThrow("--path.cgroupfs");
});

test("a v1 host with joint controllers", () => {
  tree = new Tree();
  for (const folder of ["cpu,cpuacct", "memory"])
    mkdirSync(tree.path(`cgroup/${folder}`), { recursive: true });
  const root = tree.path("cgroup");
  expect(detectHierarchies(root)).toMatchObject({
    mode: "v1",
    cpu: `${root}/cpu,cpuacct`,
    cpuacct: `${root}/cpu,cpuacct`,
    blkio: undefined,
  });
});

describe("a search that goes on", () => {
  const POD_A = `cgroup/kubepods/pod9/${"d".repeat(64)}/cpu.stat`;
  const search = (clock: FakeClock, asked: readonly string[] = [], lines: string[] = []): ContainerSearch => {
    const log = { warn: (line: string) => lines.push(line) } as unknown as Logger;
    return new ContainerSearch(detectHierarchies(tree!.path("cgroup")), asked, clock, log);
  };

  it.each([
    [[], "no kubepods cgroup"],
    [["/pods"], "none of /pods"],
  ])("says once that it found nothing for a minute, asked for %j", (asked, words) => {
    tree = new Tree().plant({ "cgroup/cgroup.controllers": "cpu\n", "cgroup/user.slice/cpu.stat": "" });
    const clock = new FakeClock();
    const lines: string[] = [];
    const one = search(clock, asked, lines);
    for (let second = 0; second < 59; second += 1) {
      one.find();
      clock.advance(1e3);
    }
    expect(lines).toEqual([]);
    for (let second = 0; second < 120; second += 1) {
      clock.advance(1e3);
      one.find();
    }
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(words);
    expect(lines[0]).toContain("--cgroup-root");
  });

  it("finds a second root within half a minute, and pods of the first at once", () => {
    tree = new Tree().plant({ "cgroup/cgroup.controllers": "cpu\n", [POD_A]: "" });
    const clock = new FakeClock();
    const one = search(clock);
    expect(one.find().containers).toHaveLength(1);
    tree.plant({ [`cgroup/kubepods/pod8/${"e".repeat(64)}/cpu.stat`]: "" });
    tree.plant({ [`cgroup/k3s/kubepods/pod7/${"c".repeat(64)}/cpu.stat`]: "" });
    expect(one.find().containers).toHaveLength(2);
    clock.advance(30_000);
    expect(one.find().containers).toHaveLength(3);
    expect(one.roots).toBe(2);
  });

  it.each([
    ["at the top", "", [POD_A]],
    ["without any root", "/system.slice/containerd.service", []],
  ])(
    "keeps containers in flat directories %s, and finds those that come beside them",
    (_, folder, others) => {
      const flat = (id: string): string =>
        `cgroup${folder}/kubepods-pod8.slice:cri-containerd:${id.repeat(64)}/cpu.stat`;
      const files = Object.fromEntries([...others, flat("e")].map((path) => [path, ""]));
      tree = new Tree().plant({ "cgroup/cgroup.controllers": "cpu\n", ...files });
      const one = search(new FakeClock());
      for (let scan = 0; scan < 3; scan += 1) expect(one.find().containers).toHaveLength(others.length + 1);
      tree.plant({ [flat("c")]: "" });
      expect(one.find().containers).toHaveLength(others.length + 2);
    },
  );

  it("searches all cgroups for at most a hundredth of the time while it finds nothing", () => {
    class SlowClock extends FakeClock {
      /** Whoever looks at the clock twice finds that 10 ms have passed. */
      override monotonicMs(): number {
        this.advance(10);
        return super.monotonicMs();
      }
    }
    tree = new Tree().plant({ "cgroup/cgroup.controllers": "cpu\n", "cgroup/user.slice/cpu.stat": "" });
    const clock = new SlowClock();
    const one = search(clock);
    expect(one.find().roots).toEqual([]);
    tree.plant({ [POD_A]: "" });
    clock.advance(900);
    expect(one.find().roots).toEqual([]);
    clock.advance(100);
    expect(one.find().roots).toEqual(["/kubepods"]);
  });
});

describe("names", () => {
  it.each([
    ["kubepods", true],
    ["kubepods.slice", true],
    ["kubelet-kubepods.slice", true],
    ["kubepods-burstable.slice", false],
    ["mykubepods", false],
    ["user.slice", false],
  ])("%s holds pods: %s", (name, holds) => {
    expect(isKubepods(name)).toBe(holds);
  });

  it.each([
    ["crio-conmon-abc.scope", "other"],
    ["libpod-conmon-abc", "other"],
    ["init.scope", "other"],
    ["dbus.service", "other"],
    ["..", "other"],
    [`libpod-${"e".repeat(64)}.scope`, "container"],
    [`kata_${"e".repeat(64)}`, "container"],
    ["web-1", "container"],
  ])("in a pod, %s is %s", (name, kind) => {
    expect(classify(name, true).kind).toBe(kind);
  });

  it.each([
    ["/kubepods/burstable/pod1", "Burstable"],
    ["/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice", "BestEffort"],
    ["/kubepods.slice/kubepods-pod1.slice", "Guaranteed"],
    ["/tradewind-local-1/pod1", undefined],
  ])("class of %s is %s", (path, qos) => {
    expect(qosOf(path)).toBe(qos);
  });

  test("any name is classified, and what is found of it is bounded", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 250 }), fc.boolean(), (name, inPod) => {
        const found = classify(name, inPod);
        expect("id" in found ? found.id : "none").toMatch(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/);
        expect("uid" in found ? found.uid.length : 0).toBeLessThanOrEqual(64);
      }),
    );
  });
});
