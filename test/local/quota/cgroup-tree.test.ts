import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { admitProcess, detectLayout, makeGroup, writeLimits } from "@tradewind/local/quota/cgroup-tree.ts";
import { chooseQuota, sweepGroups } from "@tradewind/local/quota/choose.ts";

const directories: string[] = [];
afterEach(async () => {
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true });
});

/** Something that looks like a cgroup mount, on an ordinary file system. */
async function fakeMount(paths: readonly string[]): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "tradewind-test-cgroup-"));
  directories.push(root);
  for (const path of paths) {
    if (path.endsWith("/")) await mkdir(join(root, path), { recursive: true });
    else await writeFile(join(root, path), "");
  }
  return root;
}

describe("detectLayout", () => {
  it("finds the unified tree by its list of controllers", async () => {
    const root = await fakeMount(["cgroup.controllers"]);
    expect(await detectLayout(root)).toMatchObject({ kind: "cgroup-v2", mounts: [root] });
  });

  it("finds version 1 with one mount for each controller, and the unified one of a hybrid machine", async () => {
    const root = await fakeMount(["cpu/", "cpuacct/", "memory/", "unified/"]);
    const layout = await detectLayout(root);
    expect(layout).toMatchObject({ kind: "cgroup-v1", cpuMount: join(root, "cpu") });
    expect(layout!.mounts).toHaveLength(4);
  });

  it("counts two links to one mount once", async () => {
    const root = await fakeMount(["cpu,cpuacct/", "memory/"]);
    await symlink(join(root, "cpu,cpuacct"), join(root, "cpu"));
    await symlink(join(root, "cpu,cpuacct"), join(root, "cpuacct"));
    expect((await detectLayout(root))!.mounts).toEqual([join(root, "cpu"), join(root, "memory")]);
  });

  it("says so when there is no CPU controller", async () => {
    expect(await detectLayout(await fakeMount(["memory/"]))).toBeUndefined();
    expect(await detectLayout("/nowhere")).toBeUndefined();
  });
});

describe("limits", () => {
  it("are quota and period in version 1", async () => {
    const root = await fakeMount(["cpu/", "cpuacct/", "memory/"]);
    const layout = (await detectLayout(root))!;
    await makeGroup(layout, "/a");
    await makeGroup(layout, "/a/b");
    await admitProcess(layout, "/a/b", 4711);
    await writeLimits(layout, "/a/b", 0.25, 2 ** 20);
    const read = async (path: string) => readFile(join(root, path), "utf8");
    expect(await read("cpu/a/b/cpu.cfs_quota_us")).toBe("25000");
    expect(await read("cpu/a/b/cpu.cfs_period_us")).toBe("100000");
    expect(await read("memory/a/b/memory.limit_in_bytes")).toBe("1048576");
    expect(await read("cpuacct/a/b/cgroup.procs")).toBe("4711");
  });

  it("stay as they were, the quota too, where the kernel refuses the memory (quota-without-memory)", async () => {
    const root = await fakeMount(["cpu/", "cpuacct/", "memory/"]);
    const layout = (await detectLayout(root))!;
    await makeGroup(layout, "/a");
    await writeLimits(layout, "/a", 0.25, 2 ** 20);
    const limit = join(root, "memory/a/memory.limit_in_bytes");
    await rm(limit);
    await mkdir(limit);
    await expect(writeLimits(layout, "/a", 0.5, 2 ** 19)).rejects.toThrow("EISDIR");
    expect(await readFile(join(root, "cpu/a/cpu.cfs_quota_us"), "utf8")).toBe("25000");
  });

  it("are one file each in version 2, with the controllers handed down", async () => {
    const root = await fakeMount(["cgroup.controllers"]);
    const layout = (await detectLayout(root))!;
    await makeGroup(layout, "/a");
    await makeGroup(layout, "/a/b");
    await writeLimits(layout, "/a/b", 1.5, 2 ** 20);
    expect(await readFile(join(root, "cgroup.subtree_control"), "utf8")).toBe("+cpu +memory");
    expect(await readFile(join(root, "a/cgroup.subtree_control"), "utf8")).toBe("+cpu +memory");
    expect(await readFile(join(root, "a/b/cpu.max"), "utf8")).toBe("150000 100000");
    expect(await readFile(join(root, "a/b/memory.max"), "utf8")).toBe("1048576");
  });
});

describe("chooseQuota", () => {
  it("falls back to the token bucket and says why", async () => {
    const quota = await chooseQuota({ cgroupRoot: "/nowhere", pid: 1, wanted: "auto" });
    expect(quota.kind).toBe("token-bucket");
    expect(quota.description).toContain("no cgroup CPU controller");
    expect(quota.cgroupPath).toBeUndefined();
  });

  it("refuses to emulate when cgroups were asked for by name", async () => {
    await expect(chooseQuota({ cgroupRoot: "/nowhere", pid: 1, wanted: "cgroup" })).rejects.toThrow(
      "no cgroup CPU controller under /nowhere",
    );
  });
});

describe("sweepGroups", () => {
  it("removes the groups of dead platforms and no others", async () => {
    const root = await fakeMount([
      "cpu/tradewind-local-11/pod1/c1/",
      "cpu/tradewind-local-22/pod2/",
      "cpu/tradewind-local-x/",
      "cpu/kubepods/",
      "memory/tradewind-local-11/",
    ]);
    expect(await sweepGroups(root, (pid) => pid === 22)).toEqual(["tradewind-local-11"]);
    expect(existsSync(join(root, "cpu/tradewind-local-11"))).toBe(false);
    expect(existsSync(join(root, "memory/tradewind-local-11"))).toBe(false);
    for (const kept of ["tradewind-local-22", "tradewind-local-x", "kubepods"]) {
      expect(existsSync(join(root, "cpu", kept))).toBe(true);
    }
  });
});
