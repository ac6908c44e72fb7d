import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { systemClock } from "@tradewind/core/process/clock.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { FollowedApplications } from "@tradewind/kubernetes/application/followed.ts";
import { applicationSources } from "@tradewind/kubernetes/application/sources.ts";
import { stateDirectory, statePlaces } from "@tradewind/predictor/run/application/application-state.ts";
import { SeveralApplications } from "@tradewind/predictor/run/applications.ts";
import { PredictorMetrics } from "@tradewind/predictor/run/process/metrics.ts";
import { PredictorOptions } from "@tradewind/predictor/run/process/options.ts";
import { NodeRoom } from "@tradewind/predictor/nodes/node-room.ts";
import { readSections } from "@tradewind/predictor/sources/sources-config.ts";
import { ManualClock } from "../../manual-clock.ts";

const log = createLog("test", "silent");
const HOUR_MS = 3_600_000;
let folder = "";
let state = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewind-several-"));
  state = await mkdtemp(join(tmpdir(), "tradewind-several-state-"));
});
afterEach(async () => {
  for (const each of [folder, state]) await rm(each, { recursive: true, force: true });
});

/** Several applications, `shop-0` and so on, each in a file and a namespace of its own. */
async function several(count: number, clock: Clock): Promise<SeveralApplications> {
  for (let index = 0; index < count; index += 1) {
    const name = `shop-${index}`;
    const application = { name, namespace: name, entry: "web", objective: { milliseconds: 100 } };
    await writeFile(join(folder, `${name}.json`), JSON.stringify(application));
  }
  const parsed = PredictorOptions.parse({ config: folder, state, policy: "static" });
  const options = { ...parsed, graceSeconds: 1, maxGraceSeconds: 1 };
  const sources = await applicationSources([folder]);
  const applications = new SeveralApplications(
    {
      shared: {
        options,
        sections: await readSections(undefined),
        rates: { over: () => new Map() },
        nodes: new NodeRoom(),
        workloadProblem: () => undefined,
        metrics: new PredictorMetrics(),
        webhook: undefined,
        reasoner: undefined,
        clock,
        log,
        several: true,
      },
      workloads: () => undefined,
    },
    (onChange) => new FollowedApplications({ sources, clock, log, onChange }),
  );
  onTestFinished(async () => applications.stop());
  return applications;
}

it("asks peers for their states once for all applications that begin together", async () => {
  let asked = 0;
  const applications = await several(5, systemClock);
  await applications.begin({
    instance: "a",
    answering: () => [],
    met: async () => Promise.resolve(),
    askStates: async () => {
      asked += 1;
      return Promise.resolve([]);
    },
  });
  expect(applications.planned()).toHaveLength(5);
  expect(asked).toBe(1);
});

it("keeps the state of an application that is not planned when the wall clock is set a year ahead", async () => {
  const nowMs = Date.now();
  for (const [name, ageMs] of [
    ["recent", HOUR_MS],
    ["long-gone", 1e4 * HOUR_MS],
  ] as const) {
    const path = stateDirectory(state, { namespace: "bank", name });
    await mkdir(path, { recursive: true });
    await utimes(path, new Date(nowMs - ageMs), new Date(nowMs - ageMs));
  }
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "Date", "performance"], now: nowMs });
  onTestFinished(() => void vi.useRealTimers());
  const clock = new ManualClock();
  const applications = await several(1, clock);
  await applications.begin(undefined);
  clock.set(8_760 * HOUR_MS);
  vi.advanceTimersByTime(HOUR_MS);
  vi.useRealTimers();
  // Waits for the cleaning.
  await applications.stop();
  expect((await statePlaces(state)).map(({ name }) => name).sort()).toEqual(["recent", "shop-0"]);
});
