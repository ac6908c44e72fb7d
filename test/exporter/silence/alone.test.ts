import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { APPLICATION_LIST_SCHEMA } from "@tradewind/core/contract/application-list.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import type { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import type { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { STUDENT_PARAMETERS, STUDENTS_SCHEMA, studentText } from "@tradewind/core/contract/students.ts";
import type { Students } from "@tradewind/core/contract/students.ts";
import { AT } from "@tradewind/core/students/student.ts";
import type { ExporterEdges } from "@tradewind/exporter/decision-parts.ts";
import type { ExporterInput } from "@tradewind/exporter/options.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { FakeApiServer } from "../../kubernetes/fake-api-server.ts";
import { runningExporter } from "../running-exporter.ts";
import type { TestExporter } from "../running-exporter.ts";
import { answering } from "../fake-predictor.ts";
import { until } from "../until.ts";
import { planOf, wishOf } from "../wish.ts";
import { containerOf, snapshotOf } from "./snapshots.ts";

/** A student that adds half of the replicas whatever it sees. */
function growingStudents(): Students {
  const p = new Float64Array(STUDENT_PARAMETERS);
  p[AT.lastBias + 2] = Math.atanh(0.75);
  return { schema: STUDENTS_SCHEMA, about: "a test", general: studentText(p) };
}

/** Time that a test moves on, for both hands of the clock. */
class LateClock implements Clock {
  aheadMs = 0;
  nowMs(): number {
    return systemClock.nowMs() + this.aheadMs;
  }
  monotonicMs(): number {
    return systemClock.monotonicMs() + this.aheadMs;
  }
}

interface Stage {
  readonly clock: LateClock;
  readonly exporter: TestExporter;
  /** Warnings that were logged. */
  readonly warnings: readonly string[];
  /** How often the agent was asked. */
  readonly asked: () => number;
  /** From now on the predictor is dead. */
  kill(): void;
  /** Kills it, and lets so much time go by once a poll has failed: one in hand counts as an answer of its end. */
  killFor(ms: number): Promise<void>;
  /** From now on it gives the same plan again. */
  revive(): void;
  readonly plan: Plan;
}

/** An exporter with a plan of four replicas that use nine tenths of their CPU, and an agent that tells of those pods. */
async function stage(
  students: Students,
  { edges, input, isNamed = true }: { isNamed?: boolean; input?: ExporterInput; edges?: ExporterEdges } = {},
): Promise<Stage> {
  const containers = ["b", "c", "d", "f"].map((pod) =>
    containerOf(`search-7f9c6bd4d8-x7k2${pod}`, { cpu: 0.45 }),
  );
  const nameless = containers.map(({ podName: _name, namespace: _namespace, ...rest }) => rest);
  const snapshot: Snapshot = snapshotOf(isNamed ? containers : nameless);
  let asked = 0;
  const agent = createServer((_request, response) => {
    asked += 1;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(snapshot));
  });
  await new Promise<void>((resolve) => agent.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => agent.close(() => resolve())));
  const clock = new LateClock();
  const state = mkdtempSync(join(tmpdir(), "students-"));
  const warnings: string[] = [];
  const log = Object.assign(createLog("test", "silent"), {
    warn: (...words: unknown[]) => void warnings.push(String(words.at(-1))),
  });
  const agents = `http://127.0.0.1:${(agent.address() as AddressInfo).port}`;
  const exporter = await runningExporter(
    undefined,
    { agents, agentsPollMs: 50, state, ...input },
    { clock, log, ...edges },
  );
  const hash = contentHash(students);
  const wish = wishOf({
    allocation: { replicas: 4 },
    evidence: { cpuSecondsPerRequest: 0.05, requestsPerSecond: 20, cpuPodCapacityCores: 0.5 },
    observed: { replicasReady: 4, replicasWanted: 4, complete: true },
    workloads: [{ name: "search", container: "app" }],
  });
  const plan = planOf([wish], { mode: "act", windowSeconds: 15, students: { hash } });
  const revive = (): void =>
    exporter.predictor.behave((request, response) => {
      const body =
        request.url === `/v1/models/${hash}` ? students : request.url === "/v1/plan" ? plan : undefined;
      answering(JSON.stringify(body ?? {}), body === undefined ? 404 : 200)(request, response);
    });
  revive();
  await exporter.listWhen("the plan", ({ recommendations }) => recommendations[0]?.replicas === 4);
  await until("the students on disk", () => readFileSync(join(state, "students.json"), "utf8"));
  const kill = (): void => exporter.predictor.behave((request) => request.destroy());
  const killFor = async (ms: number): Promise<void> => {
    kill();
    await exporter.listWhen("a failed poll", (list) => !list.predictor.reachable);
    clock.aheadMs = ms;
  };
  return { clock, exporter, warnings, asked: () => asked, kill, killFor, revive, plan };
}

describe("an exporter whose predictor is dead", () => {
  it("lets the student of the last plan add, says so, and gives way to the next plan", async () => {
    const students = growingStudents();
    const { clock, exporter, kill } = await stage(students);
    kill();
    clock.aheadMs = 40_000;
    const { recommendations } = await exporter.listWhen(
      "a decision of a student",
      (list) => list.recommendations[0]?.policy === "students",
    );
    expect(recommendations[0]?.reasons?.map(({ code }) => code)).toEqual([
      "predictor-silent",
      "student",
      "replicas",
    ]);
    expect(recommendations[0]?.replicas).toBeGreaterThan(4);
    expect(await exporter.metrics()).toMatch(/^tradewind_silent_applications 1$/m);
    const back = planOf([wishOf({ allocation: { replicas: 5 } })], {
      sequence: 2,
      plannedAtMs: clock.nowMs(),
    });
    exporter.predictor.serve({
      ...back,
      wishes: back.wishes.map((each) => ({
        ...each,
        inputs: { ...each.inputs, windowEndMs: clock.nowMs() },
      })),
    });
    await exporter.listWhen("the plan", (list) => list.recommendations[0]?.policy === "queue");
  });

  it("decides before a plan is overdue where the predictor does not answer", async () => {
    const { clock, exporter, kill } = await stage(growingStudents());
    kill();
    clock.aheadMs = 16_000;
    const { recommendations } = await exporter.listWhen(
      "a decision of a student",
      (list) => list.recommendations[0]?.policy === "students",
    );
    expect(recommendations[0]?.replicas).toBeGreaterThan(4);
  });

  it("keeps what students added where the plan from before the silence is given again, and takes the next one", async () => {
    const { clock, exporter, killFor, plan, revive } = await stage(growingStudents());
    await killFor(16_000);
    const { recommendations: grown } = await exporter.listWhen(
      "more replicas",
      (list) => (list.recommendations[0]?.replicas ?? 0) > 4,
    );
    revive();
    const { recommendations: after } = await exporter.listWhen(
      "the same plan again",
      (list) => list.predictor.reachable,
    );
    expect(after[0]).toMatchObject({ policy: "students", replicas: grown[0]?.replicas, valid: true });
    exporter.predictor.serve({ ...plan, sequence: 2, plannedAtMs: clock.nowMs() });
    await exporter.listWhen(
      "the next plan",
      ({ recommendations: [first] }) => first?.policy === "queue" && first.replicas === 4,
    );
  });

  it("takes an approval that an annotation of the Application gives meanwhile", async () => {
    const cluster = await FakeApiServer.start();
    const put = (annotations: Readonly<Record<string, string>>): void =>
      void cluster.put(RESOURCES.applications, {
        metadata: { name: "hotel", namespace: "shop", annotations },
        spec: {
          mode: "act",
          entry: "search",
          objective: { milliseconds: 200 },
          approval: { replicasRatio: 0.2 },
        },
      });
    put({});
    const { exporter, killFor } = await stage(growingStudents(), {
      input: { application: "crd:shop/hotel" },
      edges: { cluster: { connection: cluster.connection() } },
    });
    await killFor(16_000);
    const idIn = (list: RecommendationList): string | undefined =>
      list.recommendations[0]?.reasons?.flatMap((each) => ("change" in each ? [each.change] : []))[0];
    const held = await exporter.listWhen("a change that waits", (list) => idIn(list) !== undefined);
    expect(held.recommendations[0]).toMatchObject({ policy: "students", replicas: 4 });
    put({ "tradewind.dev/approve": idIn(held) ?? "" });
    await exporter.listWhen("its approval", (list) => (list.recommendations[0]?.replicas ?? 0) > 4);
  });

  it("warns once that it can only hold where no agent knows the names of its pods", async () => {
    const { asked, clock, exporter, kill, warnings } = await stage(growingStudents(), { isNamed: false });
    const about = (): string[] => warnings.filter((message) => message.includes("names of its pods"));
    const readings = async (count: number): Promise<void> => {
      const before = asked();
      await until("readings", () => asked() > before + count || undefined);
    };
    kill();
    clock.aheadMs = 40_000;
    await readings(2);
    expect(about()).toEqual([]);
    clock.aheadMs += 31_000;
    await readings(5);
    expect(about()).toEqual([
      "no agent knows the names of its pods, so no container belongs to a service and decisions are held",
    ]);
    const { recommendations } = await exporter.list();
    expect(recommendations[0]).toMatchObject({ replicas: 4, policy: "queue" });
  });

  it("outlives the last plan's time, as long as agents tell what runs", async () => {
    const { clock, exporter, kill } = await stage(growingStudents());
    kill();
    for (clock.aheadMs = 40_000; clock.aheadMs < 400_000; clock.aheadMs += 60_000) {
      const nowMs = clock.nowMs();
      await exporter.listWhen(
        "a new decision",
        ({ recommendations: [first] }) => (first?.decidedAtMs ?? 0) >= nowMs - 20_000,
      );
    }
    const { recommendations } = await exporter.list();
    expect(recommendations[0]).toMatchObject({ valid: true, policy: "students" });
  });
});

it("decides nothing for an application that was deleted: its decisions run out", async () => {
  const { clock, exporter, plan } = await stage(growingStudents());
  const { application: name, namespace } = plan;
  const deleted = { namespace, name, origin: `crd:${namespace}/${name}`, state: "deleted" };
  const list = { schema: APPLICATION_LIST_SCHEMA, several: false, applications: [deleted] };
  let listed = 0;
  exporter.predictor.behave((request, response) => {
    const isList = request.url === "/v1/applications";
    if (isList) listed += 1;
    answering(JSON.stringify(isList ? list : plan))(request, response);
  });
  const lists = async (): Promise<void> => {
    const before = listed;
    await until("a list", () => listed > before + 1 || undefined);
  };
  await lists();
  for (clock.aheadMs = 40_000; clock.aheadMs <= 400_000; clock.aheadMs += 60_000) await lists();
  const { recommendations } = await exporter.list();
  expect(recommendations[0]).toMatchObject({ replicas: 4, policy: "queue", valid: false });
  expect(await exporter.metrics()).toMatch(/^tradewind_silent_applications 0$/m);
});
