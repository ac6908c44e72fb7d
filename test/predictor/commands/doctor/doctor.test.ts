import { plain } from "@tradewind/core/terminal/style.ts";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLog } from "@tradewind/core/process/log.ts";
import { inWords } from "@tradewind/predictor/commands/doctor/command.ts";
import { examine } from "@tradewind/predictor/commands/doctor/doctor.ts";
import { DoctorOptions } from "@tradewind/predictor/commands/doctor/options.ts";
import type { Finding } from "@tradewind/predictor/sources/source.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { AgentOn } from "../../../agent/agent-on.ts";
import { v2Files } from "../../../agent/tree/cgroup-text.ts";
import { nodeFiles, QUIET_NODE } from "../../../agent/tree/node.ts";
import { Tree } from "../../../agent/tree/plant.ts";
import type { Files } from "../../../agent/tree/plant.ts";
import { FakeServer, json } from "../../../core/net/endpoint/fake-server.ts";
import { aSet } from "../../store/windows-of.ts";

let directory = "";
let server: FakeServer;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "tradewind-doctor-"));
  server = await FakeServer.start((_request, response) => json(response, {}, 404));
});
afterEach(async () => {
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

function config(text: string): string {
  const path = join(directory, "app.yaml");
  writeFileSync(path, `entry: front\nobjective: { milliseconds: 250 }\n${text}`);
  return path;
}
const look = async (options: Record<string, unknown>): Promise<Finding[]> =>
  examine(DoctorOptions.parse({ timeoutSeconds: 1, ...options }), Date.now());
const problems = (findings: readonly Finding[]): Finding[] =>
  findings.filter(({ level }) => level === "problem");

describe("doctor", () => {
  it("finds a calendar that is over and one that names a service which is not listed, and no other", async () => {
    const window = (from: string, until: string): string =>
      `from: "${from}", until: "${until}", floor: { replicas: 2 }`;
    const path = config(
      `services: [{ name: cart }]\ncalendars:\n` +
        `  - { name: sale, ${window("2025-11-28T00:00", "2025-11-29T00:00")} }\n` +
        `  - { name: typo, services: [crat, front], ${window("0 8 * * *", "0 9 * * *")} }\n` +
        `  - { name: fine, services: [cart], ${window("0 8 * * *", "0 9 * * *")} }\n`,
    );
    const said = problems(await look({ config: path })).map(({ message }) => message);
    expect(said).toEqual([
      expect.stringMatching(/^calendar 'sale' is over/) as string,
      expect.stringMatching(/^calendar 'typo' names crat, which/) as string,
    ]);
  });

  it("names every server that does not answer as it should, and how to mend it", async () => {
    const gone = `http://127.0.0.1:1`;
    const path = config(
      `sources:\n  prometheus: [{ name: main, url: "${gone}" }]\n  jaeger: [{ url: "${server.url}" }]\n  tempo: [{ url: "${server.url}" }]\n`,
    );
    const findings = await look({ config: path, agents: [gone], predictor: server.url, scaler: gone });
    const said = problems(findings).map(
      ({ subject, message, remedy }) => `${subject} | ${message} | ${remedy ?? ""}`,
    );
    expect(said).toHaveLength(6);
    expect(said[0]).toMatch(/prometheus main \|.*nothing listens.*\| start the server/);
    expect(said[1]).toMatch(/jaeger jaeger \|.*404.*\| check the url's path/);
    expect(said[2]).toMatch(/tempo tempo \|.*404/);
    expect(said[3]).toMatch(/agent .*nothing listens.*\| start `tradewind agent`/);
    expect(said[4]).toMatch(/predictor .*404/);
    expect(said[5]).toMatch(/scaler .*\| start `tradewind scaler`/);
  });

  it("says of an agent how many containers have no use of their own", async () => {
    const pod = "cgroup/kubepods/pod11111111-2222-4333-8444-555555555555";
    const files = (seconds: number): Files => ({
      ...nodeFiles(QUIET_NODE),
      "cgroup/cgroup.controllers": "cpu memory io pids\n",
      ...v2Files(pod, { cpuSeconds: 9 + seconds, memoryBytes: 1e9 }),
      ...v2Files(`${pod}/${"a".repeat(64)}`, { cpuSeconds: 0 }),
      ...v2Files(`${pod}/${"b".repeat(64)}`, { cpuSeconds: 0 }),
    });
    using tree = new Tree().plant(files(0));
    using on = new AgentOn(tree);
    for (let seconds = 0; seconds <= 10; seconds += 5) on.cycle(5, files(seconds));
    const agent = await FakeServer.start((_request, response) => json(response, on.snapshot()));
    try {
      const options = DoctorOptions.parse({ timeoutSeconds: 1, agents: [agent.url] });
      const findings = await examine(options, on.clock.nowMs());
      const said = findings.filter(({ level }) => level === "warning").map(({ message }) => message);
      expect(said).toContain("node node-a: the CPU use of 2 of 2 containers is not known");
    } finally {
      await agent.stop();
    }
  });

  it("says of a scaler that its decisions have expired and that it reaches no predictor (doctor-all-well)", async () => {
    const scaler = await FakeServer.start((_request, response) =>
      json(response, {
        predictor: { reachable: false, problem: "connection refused" },
        recommendations: [
          { service: "front", valid: false },
          { service: "cart", valid: true },
        ],
      }),
    );
    try {
      const said = problems(await look({ scaler: scaler.url })).map(({ message }) => message);
      expect(said).toEqual([
        "it reaches no predictor: connection refused",
        "1 of 2 recommendations have expired: front",
      ]);
    } finally {
      await scaler.stop();
    }
  });

  it.each([
    ["default", ["read", "approve"], 1],
    ["default", ["read"], 0],
    ["ann", ["read", "approve"], 0],
  ])("warns of a scaler's token '%s' with the scopes %j in %i findings", async (name, scopes, count) => {
    const scaler = await FakeServer.start(({ url }, response) =>
      json(response, url?.includes("changes") ? { token: { name, scopes } } : { recommendations: [{}] }),
    );
    try {
      const warned = (await look({ scaler: scaler.url })).filter(({ level }) => level === "warning");
      expect(warned.filter(({ message }) => message.includes("approves large changes"))).toHaveLength(count);
    } finally {
      await scaler.stop();
    }
  });

  it("takes the name that certificates are checked for (doctor-server-name)", async () => {
    const flags = ["--scaler", "https://127.0.0.1:1", "--tls-server-name", "tradewind", "--json"];
    const run = promisify(execFile)(process.execPath, ["cli/main.ts", "doctor", ...flags]);
    await expect(run).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining("nothing listens") as string,
    });
  });

  it("says of a configuration what is wrong in it, once", async () => {
    const unread = problems(await look({ config: join(directory, "none.yaml") }));
    expect(unread).toHaveLength(1);
    expect(unread[0]?.message).toMatch(/cannot be read as YAML or JSON: ENOENT/);
    const findings = problems(
      await look({ config: config("sources: { prometheus: [{ url: 'http://x', colour: red }] }\n") }),
    );
    expect(findings).toHaveLength(1);
    expect(findings[0]?.message).toMatch(/sources\.prometheus\.0: Unrecognized key: "colour"/);
    const twice = config(
      "sources: { jaeger: [{ url: 'http://x', name: a }], tempo: [{ url: 'http://y', name: a }] }\n",
    );
    expect(problems(await look({ config: twice }))[0]?.message).toMatch(/two sources are called 'a'/);
  });

  it("finds a clock that runs ahead and a server that hangs", async () => {
    server.handler = (_request, response) =>
      json(response, { data: ["front"] }, 200, { date: new Date(Date.now() + 90_000).toUTCString() });
    const findings = await look({ config: config(`sources: { jaeger: [{ url: "${server.url}" }] }\n`) });
    expect(findings.find(({ level }) => level === "warning")?.message).toMatch(/(89|90|91) s ahead/);
    server.handler = () => undefined;
    expect(problems(await look({ predictor: server.url, timeoutSeconds: 0.2 }))[0]?.message).toMatch(
      /no complete answer within 0.2 s/,
    );
  });

  it("knows a plan that is too old", async () => {
    const plan = {
      schema: "tradewind.dev/plan/v1",
      application: "shop",
      namespace: "shop",
      sequence: 7,
      predictorStartedAtMs: 0,
      plannedAtMs: Date.now() - 300_000,
      policy: "queue",
      policyReason: "no profile yet",
      objective: { percentile: 0.95, seconds: 0.25 },
      wishes: [],
    };
    server.handler = (_request, response) => json(response, plan);
    expect(problems(await look({ predictor: server.url }))[0]?.message).toMatch(/the last plan is 300 s old/);
    plan.plannedAtMs = Date.now();
    expect(problems(await look({ predictor: server.url }))).toEqual([]);
  });

  it("looks into the state directory", async () => {
    const store = new SqliteStore({
      path: join(directory, "history.sqlite"),
      log: createLog("test", "silent"),
    });
    store.append(aSet(Date.now() - 600_000, ["cart"]));
    await store.close();
    writeFileSync(join(directory, "history.sqlite.corrupt-2026"), "");
    const findings = await look({ state: directory });
    const text = findings.map(({ message }) => message).join("\n");
    expect(text).toMatch(/can be written/);
    expect(text).toMatch(/newest window 10 min ago/);
    expect(text).toMatch(/damaged history was set aside/);
    expect(findings.map(({ remedy }) => remedy).join()).toMatch(/delete the file when/);
    expect(await look({ state: join(directory, "none") })).toMatchObject([
      { level: "warning", message: /does not exist/ },
    ]);
    writeFileSync(join(directory, "history.sqlite"), "no database ".repeat(1_000));
    expect(problems(await look({ state: directory }))[0]?.message).toMatch(/database/);
  });

  it("says of an empty configuration that it is empty", async () => {
    const path = join(directory, "empty.yaml");
    writeFileSync(path, "# nothing yet\n");
    expect(problems(await look({ config: path }))[0]?.message).toMatch(/empty\.yaml is empty$/);
  });

  it("says what it could look at when it was asked nothing", async () => {
    expect(await look({})).toMatchObject([{ level: "problem", remedy: /--config/ }]);
  });

  it("writes problems last, each with its remedy", () => {
    const text = inWords(
      [
        { subject: "a", level: "problem", message: "is down", remedy: "start it" },
        { subject: "b", level: "ok", message: "answers" },
      ],
      plain,
    );
    expect(text).toBe("ok      b: answers\nPROBLEM a: is down\n        -> start it\n\n1 problem found.");
  });

  it.each([
    [["warning"], "1 warning found."],
    [["warning", "warning", "problem"], "1 problem and 2 warnings found."],
    [["ok"], "No problems found."],
  ] as const)("sums up %j as '%s'", (levels, summary) => {
    const findings = levels.map((level) => ({ subject: "a", level, message: "is so" }));
    expect(inWords(findings, plain).split("\n").at(-1)).toBe(summary);
  });

  it("ends with 1 when something must be mended and 0 otherwise, as a command", async () => {
    const run = promisify(execFile);
    const main = join(import.meta.dirname, "../../../../cli/main.ts");
    const bad = await run(process.execPath, [
      main,
      "doctor",
      "--predictor",
      "http://127.0.0.1:1",
      "--json",
    ]).catch((error: unknown) => error as { code: number; stdout: string });
    expect(bad).toMatchObject({ code: 1 });
    expect(JSON.parse(bad.stdout)).toMatchObject({ healthy: false, findings: [{ level: "problem" }] });
    const good = await run(process.execPath, [main, "doctor", "--state", directory]);
    expect(good.stdout).toMatch(/No problems found/);
  });
});
