import { renameSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { NameSources } from "@tradewind/agent/names/sources.ts";
import { WorkloadsFile } from "@tradewind/agent/names/workloads-file.ts";
import { AgentOn } from "../agent-on.ts";
import { Tree } from "../tree/plant.ts";
import { situation, V2 } from "../tree/situation.ts";

let tree: Tree;
beforeEach(() => {
  tree = new Tree().plant(situation(V2, {}, {}));
});
afterEach(() => tree[Symbol.dispose]());

function list(pods: WorkloadList["workloads"][number]["pods"]): WorkloadList {
  return {
    schema: WORKLOADS_SCHEMA,
    observedAtMs: 1,
    workloads: [
      {
        namespace: "hotel",
        kind: "Deployment",
        name: "search",
        service: "search",
        replicasWanted: 1,
        replicasReady: 1,
        pods,
      },
    ],
  };
}

function write(value: unknown): void {
  const path = tree.path("workloads.json");
  writeFileSync(`${path}.new`, typeof value === "string" ? value : JSON.stringify(value));
  renameSync(`${path}.new`, path);
}

const STAT = (pid: number, cpuTicks: number, startTicks: number): string =>
  `${pid} (search (1)) S 1 1 1 0 -1 4194304 9120 0 3 0 ${cpuTicks} 0 0 0 20 0 11 0 ${startTicks} 1 2\n`;

function process(pid: number, cpuTicks: number, startTicks = 88): Record<string, string> {
  return {
    [`proc/${pid}/stat`]: STAT(pid, cpuTicks, startTicks),
    [`proc/${pid}/status`]: "Name:\tsearch\nVmRSS:\t   2048 kB\n",
    [`proc/${pid}/io`]: "rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\n",
  };
}

describe("--workloads", () => {
  test("names containers by id, and by pod uid where the id is not known", async () => {
    const [first, second] = V2.containers;
    write(
      list([
        {
          uid: "any",
          name: "search-1",
          node: "node-a",
          ready: true,
          containers: [{ id: first!.id, name: "web" }],
        },
        { uid: second!.podUid, name: "search-2", node: "node-a", ready: true, containers: [] },
      ]),
    );
    using on = new AgentOn(tree, { workloads: tree.path("workloads.json") });
    await on.agent.pollNames();
    on.cycle();
    const { containers } = on.snapshot();
    expect(containers.find(({ id }) => id === first!.id)).toMatchObject({
      podName: "search-1",
      containerName: "web",
      namespace: "hotel",
    });
    expect(containers.find(({ id }) => id === second!.id)).toMatchObject({ podName: "search-2" });
    expect(on.metrics()).toContain('container="web",pod="search-1",namespace="hotel"');
  });

  test("pods of other nodes are not ours", async () => {
    write(
      list([
        {
          uid: "u",
          name: "search-1",
          node: "node-b",
          ready: true,
          containers: [{ id: "p1", name: "web", pid: 7 }],
        },
      ]),
    );
    tree.plant(process(7, 100));
    using on = new AgentOn(tree, { workloads: tree.path("workloads.json") });
    await on.agent.pollNames();
    on.cycle();
    expect(on.snapshot().containers).toHaveLength(2);
  });

  test("a bare process is sampled, and is gone when it ends or another one has its id", async () => {
    const pods = (pid: number) =>
      list([
        {
          uid: "u",
          name: "search-1",
          node: "node-a",
          ready: true,
          containers: [{ id: "p1", name: "web", pid }],
        },
      ]);
    tree.plant(process(4711, 100));
    write(pods(4711));
    using on = new AgentOn(tree, { workloads: tree.path("workloads.json") });
    await on.agent.pollNames();
    on.cycle();
    on.cycle(1, process(4711, 150));
    const found = on.snapshot().containers.find(({ id }) => id === "p1");
    expect(found).toMatchObject({
      podName: "search-1",
      cpu: { usageSecondsTotal: 1.5, usageCores: 0.5 },
      memory: { usageBytes: 2048 * 1024, majorFaultsTotal: 3 },
      io: { readBytesTotal: 4096, writtenBytesTotal: 8192 },
    });
    for (let cycle = 0; cycle < 6; cycle += 1) on.cycle(1, process(4711, 5, 99));
    expect(on.snapshot().containers.some(({ id }) => id === "p1")).toBe(false);
    expect(on.metrics()).not.toContain('container_id="p1"');
  });

  test("a process that is no longer listed leaves nothing", async () => {
    tree.plant(process(4711, 100));
    write(
      list([
        {
          uid: "u",
          name: "s",
          node: "node-a",
          ready: true,
          containers: [{ id: "p1", name: "web", pid: 4711 }],
        },
      ]),
    );
    using on = new AgentOn(tree, { workloads: tree.path("workloads.json") });
    await on.agent.pollNames();
    on.cycle();
    expect(on.snapshot().containers).toHaveLength(3);
    write(list([]));
    await on.agent.pollNames();
    on.cycle();
    expect(on.snapshot().containers).toHaveLength(2);
    expect(on.metrics()).not.toContain('container_id="p1"');
  });

  test.each(["", "{", "[]", '{"schema":"other"}'])(
    "a file that holds %j keeps the last names and is counted",
    async (text) => {
      const { id } = V2.containers[0]!;
      write(
        list([
          { uid: "any", name: "search-1", node: "node-a", ready: true, containers: [{ id, name: "web" }] },
        ]),
      );
      using on = new AgentOn(tree, { workloads: tree.path("workloads.json") });
      await on.agent.pollNames();
      write(text);
      await on.agent.pollNames();
      await on.agent.pollNames();
      on.cycle();
      expect(on.snapshot().containers.find((each) => each.id === id)?.podName).toBe("search-1");
      expect(on.metric("tradewind_agent_name_source_failures_total")).toBe(1);
    },
  );
});

test("a path that cannot be looked at is logged once while it lasts, and again after it was readable", async () => {
  const lines: string[] = [];
  const log = { warn: (line: string) => lines.push(line) } as unknown as Logger;
  tree.plant({ folder: "" });
  const sources = new NameSources(undefined, new WorkloadsFile(tree.path("folder/list.json"), "node-a"), log);
  for (let poll = 0; poll < 60; poll += 1) await sources.poll();
  expect(lines).toHaveLength(1);
  expect(sources.failuresTotal).toBe(60);
  tree.remove("folder");
  await sources.poll();
  tree.plant({ folder: "" });
  await sources.poll();
  expect(lines).toHaveLength(2);
});

test("a file that is not there yet is no names, and is read when it comes", async () => {
  const file = new WorkloadsFile(tree.path("workloads.json"), "node-a");
  await expect(file.poll()).resolves.toBeUndefined();
  write(list([{ uid: "u", name: "s", node: "node-a", ready: true, containers: [] }]));
  expect((await file.poll())?.byPodUid.get("u")?.podName).toBe("s");
  await expect(file.poll()).resolves.toBeUndefined();
});
