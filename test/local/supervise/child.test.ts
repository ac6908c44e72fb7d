import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { superviseChild } from "@tradewind/local/supervise/child.ts";
import type { Child, ChildOptions } from "@tradewind/local/supervise/child.ts";
import { isAlive } from "@tradewind/local/supervise/run-directory.ts";
import { waitUntil } from "../../wait-until.ts";

const READY = `console.log(JSON.stringify({process:"agent",ready:true,addresses:{http:"http://127.0.0.1:1"}}));`;

let directory: string;
let child: Child | undefined;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "tradewind-test-child-"));
});
afterEach(async () => {
  await child?.stop();
  child = undefined;
  await rm(directory, { recursive: true, force: true });
});

async function optionsFor(script: string, events: string[] = []): Promise<ChildOptions> {
  const path = join(directory, "child.mjs");
  await writeFile(path, script);
  return {
    name: "agent",
    args: [path],
    logPath: join(directory, "agent.log"),
    env: {},
    timings: { backoffMillis: [20], stopMillis: 200 },
    onChange: (state) => events.push(state),
    onGivenUp: (error) => events.push(error.message),
  };
}

describe("superviseChild", () => {
  it("reads the addresses of the ready line among other output, and ends the process on stop", async () => {
    child = await superviseChild(
      await optionsFor(`console.log("hello"); ${READY} setInterval(() => {}, 1000);`),
    );
    expect(child.addresses).toEqual({ http: "http://127.0.0.1:1" });
    const pid = child.pid()!;
    expect(isAlive(pid)).toBe(true);
    await child.stop();
    expect(isAlive(pid)).toBe(false);
  });

  it("starts a killed process again", async () => {
    const events: string[] = [];
    child = await superviseChild(await optionsFor(`${READY} setInterval(() => {}, 1000);`, events));
    const pid = child.pid()!;
    process.kill(pid, "SIGKILL");
    await waitUntil(() => events.length === 3, 10_000, "it is up again");
    expect(events).toEqual(["up", "down", "up"]);
    expect(child.pid()).not.toBe(pid);
  });

  it("leaves a process dead that was ended for good", async () => {
    const events: string[] = [];
    child = await superviseChild(await optionsFor(`${READY} setInterval(() => {}, 1000);`, events));
    const pid = child.pid()!;
    child.end();
    await waitUntil(() => !isAlive(pid), 10_000, "it is dead");
    await child.stop();
    expect(events).toEqual(["up"]);
    expect(child.pid()).toBe(pid);
  });

  it("says why a process does not start, with the end of its log", async () => {
    const script = `console.error("line 1"); console.error("port 9810 is taken"); process.exit(3);`;
    await expect(superviseChild(await optionsFor(script))).rejects.toThrow(
      "the agent failed: exit code 3\nthe end of its log:\nline 1\nport 9810 is taken",
    );
  });

  it(
    "gives up a process that dies again and again right after it was ready",
    { timeout: 30_000 },
    async () => {
      const events: string[] = [];
      child = await superviseChild(
        await optionsFor(`${READY} setTimeout(() => { throw new Error("broken"); }, 50);`, events),
      );
      await waitUntil(
        () => events.some((event) => event.startsWith("the agent failed")),
        25_000,
        "it is given up",
      );
      expect(events.filter((event) => event === "down")).toHaveLength(5);
      expect(await readFile(join(directory, "agent.log"), "utf8")).toContain("Error: broken");
    },
  );

  it("does not wait for a process that ignores SIGTERM", { timeout: 15_000 }, async () => {
    child = await superviseChild(
      await optionsFor(`process.on("SIGTERM", () => {}); ${READY} setInterval(() => {}, 1000);`),
    );
    const pid = child.pid()!;
    await child.stop();
    expect(isAlive(pid)).toBe(false);
  });
});
