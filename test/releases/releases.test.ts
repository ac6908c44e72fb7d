import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import type { z } from "zod";
import { safeRead } from "@tradewind/core/values/config.ts";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { Plan } from "@tradewind/core/contract/plan.ts";
import { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { WindowSet } from "@tradewind/core/contract/window.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { replay as replayGuard } from "@tradewind/exporter/decide/guard/guard.ts";
import { OnePredictor } from "@tradewind/exporter/plans/plan-fetcher.ts";
import { StateFile } from "@tradewind/exporter/keep/state-file.ts";
import { PolicyInputs } from "@tradewind/predictor/decide/inputs.ts";
import { replay } from "@tradewind/predictor/decide/replay.ts";
import { PolicyState } from "@tradewind/predictor/decide/state.ts";
import {
  POLICY_STATE,
  StateFile as PredictorStateFile,
} from "@tradewind/predictor/run/application/state-file.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { pack } from "@tradewind/predictor/store/packing.ts";
import { fakePredictor } from "../exporter/fake-predictor.ts";
import { runningExporter } from "../exporter/running-exporter.ts";
import { planOf, wishOf } from "../exporter/wish.ts";
import { nextRelease } from "./next-release.ts";

const RELEASE = join(import.meta.dirname, "..", "fixtures", "releases", "0.1.0");
const log = createLog("test", "silent");

const read = async (name: string): Promise<unknown> =>
  JSON.parse(await readFile(join(RELEASE, name), "utf8")) as unknown;

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "tradewind-releases-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

const CONTRACTS: readonly (readonly [string, z.ZodType])[] = [
  ["plan.json", Plan],
  ["recommendations.json", RecommendationList],
  ["windows.json", WindowSet],
  ["snapshot.json", Snapshot],
  ["inputs.json", PolicyInputs],
  ["predictor-state.json", PolicyState],
];

const without = (document: object, ...keys: string[]): object =>
  Object.fromEntries(Object.entries(document).filter(([key]) => !keys.includes(key)));

/**
 * A document of 0.1.0 without what its planner remembered and was set by, and what was known of its profiles: later releases
 * have no planner, and train nothing.
 */
function withoutPlanner(document: object): object {
  const {
    profiles: _trained,
    services,
    settings,
    state,
    ...rest
  } = document as Record<string, object | undefined>;
  return {
    ...without(rest, "endToEnd", "planner"),
    ...(settings && { settings: without(settings, "planner") }),
    ...(state && { state: withoutPlanner(state) }),
    ...(services && {
      services: (services as object[]).map((each) => without(each, "inFlight", "recentDemandCores")),
    }),
  };
}

describe("what release 0.1.0 wrote", () => {
  it.each(CONTRACTS)("%s is read whole", async (name, schema) => {
    const document = await read(name);
    // Settings that are younger than the document have their defaults.
    expect(safeRead(schema, document).data).toMatchObject(withoutPlanner(document as object));
  });

  it("as decisions of an exporter is served on, and replays to the same numbers bit for bit", async () => {
    const state = await directory();
    await copyFile(join(RELEASE, "decisions.json"), join(state, "decisions.json"));
    const loaded = await new StateFile(state).load(0);
    const { decisions } = (await read("decisions.json")) as { decisions: DecisionRecord[] };
    expect(loaded).toMatchObject({ kind: "read", decisions });
    expect(decisions).toHaveLength(2);
    for (const { actions, final, ...record } of decisions) {
      expect(replayGuard({ actions, final, ...record })).toEqual({ final, actions });
    }
  });

  it("as history is opened, with every window, flow and decision in it", async () => {
    const state = await directory();
    await copyFile(join(RELEASE, "history.sqlite"), join(state, "history.sqlite"));
    const store = new SqliteStore({ path: join(state, "history.sqlite"), clock: systemClock, log });
    onTestFinished(async () => store.close());
    const everything = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
    expect([...store.windows(everything)].length).toBeGreaterThan(4);
    expect([...store.flows(everything)].length).toBeGreaterThan(2);
    expect(store.health()).toMatchObject({ state: "disk" });
  });
});

describe("what a later release writes", () => {
  it.each(CONTRACTS)("%s is read without the fields that are not known here", async (name, schema) => {
    const document = await read(name);
    const parsed = safeRead(schema, nextRelease(document));
    const known = JSON.stringify(document).replaceAll(/"policy":"[^"]*"/g, '"policy":"oracle-v2"');
    // The choice of a policy is configuration of the one who decided, and read as such.
    expect(parsed.data).toEqual(safeRead(schema, JSON.parse(known)).data);
  });

  it("as inputs can be decided on again", async () => {
    const inputs = await read("inputs.json");
    expect(replay(nextRelease(inputs)).plan.wishes).toEqual(replay(inputs).plan.wishes);
  });

  it("as decisions of an exporter is served after a rollback, whatever the policy is called", async () => {
    const state = await directory();
    const later = nextRelease(await read("decisions.json"));
    await writeFile(join(state, "decisions.json"), JSON.stringify(later));
    const loaded = await new StateFile(state).load(0);
    expect(loaded).toMatchObject({ kind: "read", decisions: [{ service: "frontend" }, { service: "geo" }] });
    expect(loaded).not.toHaveProperty("rejected");
  });

  it("as the state of a predictor is taken up after a rollback", async () => {
    const state = await directory();
    const before = (await read("predictor-state.json")) as PolicyState;
    await writeFile(join(state, "predictor-state.json"), JSON.stringify(nextRelease(before)));
    const file = new PredictorStateFile(state, POLICY_STATE, log, () => undefined);
    expect(await file.read(before.application, before.namespace, 0)).toEqual(withoutPlanner(before));
  });

  it("as history is read after a rollback", async () => {
    const state = await directory();
    await mkdir(state, { recursive: true });
    const path = join(state, "history.sqlite");
    await copyFile(join(RELEASE, "history.sqlite"), path);
    const set = (await read("windows.json")) as WindowSet;
    const database = new DatabaseSync(path);
    const { body, checksum } = pack(nextRelease(set.windows[0]));
    database.prepare("UPDATE windows SET body = ?, checksum = ?").run(body, checksum);
    database.close();
    const store = new SqliteStore({ path: join(state, "history.sqlite"), clock: systemClock, log });
    onTestFinished(async () => store.close());
    const windows = [...store.windows({ fromMs: 0, toMs: Number.MAX_SAFE_INTEGER })];
    expect(windows.length).toBeGreaterThan(0);
    expect(windows[0]).toEqual(set.windows[0]);
  });

  it("as a plan is decided on by an exporter", async () => {
    const plan = nextRelease(planOf([wishOf({ allocation: { replicas: 9 } })])) as Plan;
    const exporter = await runningExporter(plan);
    expect((await exporter.list()).recommendations).toMatchObject([{ replicas: 9, policy: "oracle-v2" }]);
    expect(await exporter.metrics()).toContain("tradewind_plan_wishes_rejected_total 0");
  });
});

describe("what cannot be read", () => {
  it("as one record of many stays in the file, and the others are served", async () => {
    const state = await directory();
    const { decisions, ...rest } = (await read("decisions.json")) as { decisions: DecisionRecord[] };
    const broken = { ...decisions[0], final: { replicas: "many" } };
    await writeFile(
      join(state, "decisions.json"),
      JSON.stringify({ ...rest, decisions: [broken, decisions[1]] }),
    );
    const file = new StateFile(state);
    expect(await file.load(0)).toMatchObject({
      kind: "read",
      decisions: [decisions[1]],
      rejected: { count: 1, firstReason: expect.stringContaining("final.replicas") as string },
    });
    await file.save([JSON.stringify(decisions[1])], 0);
    const kept = JSON.parse(await readFile(file.path, "utf8")) as { decisions: unknown[] };
    expect(kept.decisions).toEqual([broken, decisions[1]]);
  });

  it("as a whole plan makes the exporter take the next predictor's, and is fetched once a plan", async () => {
    const unreadable = planOf([wishOf({ allocation: { replicas: 3 } })], { predictorStartedAtMs: 1 });
    const wishes = unreadable.wishes.map((wish) =>
      Object.assign({}, wish, { allocation: undefined, sizes: [1, 2, 3] }),
    );
    const later = await fakePredictor();
    onTestFinished(async () => later.stop());
    let bodies = 0;
    later.behave(({ url }, response) => {
      if (url === "/v1/plan") bodies += 1;
      response.end(JSON.stringify({ ...unreadable, wishes }));
    });
    const ours = await fakePredictor(planOf([wishOf({ allocation: { replicas: 7 } })]));
    onTestFinished(async () => ours.stop());
    const exporter = await runningExporter(undefined, { predictor: `${later.url},${ours.url}` });
    const { recommendations } = await exporter.listWhen(
      "the readable plan",
      (list) => list.recommendations.length > 0,
    );
    expect(recommendations).toMatchObject([{ replicas: 7 }]);
    const asked = ours.requests();
    await exporter.listWhen("more polls", () => ours.requests() > asked + 6);
    expect(bodies).toBe(1);
    expect(await exporter.metrics()).toMatch(/tradewind_plan_fetch_errors_total\{problem="unreadable"\} \d+/);
  });

  it("as a plan of the only predictor is named as the reason", async () => {
    const wishes = [{ namespace: "shop", service: "search", sizes: [1] }];
    const predictor = await fakePredictor();
    onTestFinished(async () => predictor.stop());
    predictor.behave((_request, response) => void response.end(JSON.stringify({ ...planOf([]), wishes })));
    const only = new OnePredictor(predictor.url, {
      deadlineMs: 1_000,
      staleAfterMs: 300_000,
      clockToleranceMs: 10_000,
      clock: systemClock,
    });
    onTestFinished(async () => only.close());
    const { signal } = new AbortController();
    const unreadable = { code: "unreadable", message: expect.stringContaining("another release") as string };
    await expect(only.fetch(signal)).rejects.toMatchObject(unreadable);
    await expect(only.fetch(signal)).rejects.toMatchObject(unreadable);
  });
});
