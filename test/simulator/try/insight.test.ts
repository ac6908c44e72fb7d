import { describe, expect, it } from "vitest";
import { filesOf } from "@tradewind/simulator/try/files.ts";
import { insightOf } from "@tradewind/simulator/try/insight.ts";
import type { Insight, Question } from "@tradewind/simulator/try/insight.ts";
import { foundInState } from "@tradewind/simulator/try/objects-of-series.ts";
import { tryPage } from "@tradewind/simulator/try/page.ts";
import { calledServices, rootOf, usualMilliseconds } from "@tradewind/simulator/try/proposal.ts";
import { objectiveWords, verdict } from "@tradewind/simulator/try/words.ts";
import { recording } from "../backtest/recording.ts";

const SETS = recording(120);
const SERVICES = calledServices(SETS);
const namespace = SETS[0]!.windows[0]!.namespace;
const question: Question = {
  namespace,
  entry: undefined,
  objectiveMilliseconds: undefined,
  exclude: [],
  include: [],
  podStartSeconds: 30,
  seed: 1,
};
const ask = async (sets = SETS, more: Partial<Question> = {}): Promise<Insight> =>
  insightOf({ found: foundInState([], namespace, SERVICES), sets }, { ...question, ...more }, undefined);

describe("what tradewind try finds out", () => {
  it("takes the service that no other calls for the entry where no route says another", async () => {
    const { application, entryFrom } = await ask();
    expect(application.entries).toEqual([rootOf(SETS)]);
    expect(entryFrom).not.toBe("");
  });

  it("proposes a round objective that nine of ten intervals kept", async () => {
    const { application, objectiveFrom } = await ask();
    expect(objectiveFrom).toBe("measured");
    expect(application.objective.milliseconds).toBe(usualMilliseconds(SETS));
    const tails = SETS.flatMap(({ flows }) => flows.map(({ latency }) => 1e3 * latency.p95Seconds));
    const kept = tails.filter((tail) => tail <= application.objective.milliseconds).length / tails.length;
    expect(kept).toBeGreaterThanOrEqual(0.9);
  });

  it("takes an objective that was found before one that is measured", async () => {
    const found = foundInState([], namespace, SERVICES);
    found.slos.push({ from: "Sloth 'latency'", milliseconds: 700, percentile: 0.99, query: "" });
    const insight = await insightOf({ found, sets: SETS.slice(0, 10) }, question, undefined);
    expect(insight).toMatchObject({
      objectiveFrom: "slo",
      application: { objective: { milliseconds: 700, percentile: 0.99 } },
    });
    expect(objectiveWords(insight)).toBe("p99 within 700 ms (as Sloth 'latency' has it)");
  });

  it("gives the same files for the same findings, byte by byte", async () => {
    const [first, second] = [await ask(), await ask()];
    expect(filesOf(first.proposed, namespace, undefined)).toEqual(
      filesOf(second.proposed, namespace, undefined),
    );
    expect(verdict(first)).toBe(verdict(second));
  });

  it("says why nothing was replayed where too little was recorded, and still what to apply", async () => {
    const insight = await ask(SETS.slice(0, 10));
    expect(insight.report).toBeUndefined();
    const files = filesOf(insight.proposed, namespace, undefined);
    expect(files.map(({ name }) => name)).toContain("1-observe/application.yaml");
    const page = tryPage(insight, { namespace, source: "a test", notes: [], folder: "out", files });
    expect(page).toContain("Nothing could be replayed: needs 20 intervals");
  });

  it("says in how many intervals the entry's latency is unknown, where that is why nothing was replayed", async () => {
    const blind = SETS.map((set, place) => ({
      ...set,
      flows: [],
      windows: set.windows.map((window) =>
        Object.assign({}, window, {
          ownLatency: undefined,
          responseLatency: place < 30 ? set.flows[0]!.latency : undefined,
        }),
      ),
    }));
    const { unreplayed } = await ask(blind);
    expect(unreplayed).toMatch(
      /^90 of the 120 intervals that were read have no latency of 'front'; needs 20/,
    );
  });

  it("writes names of the cluster into the page as text, never as markup", async () => {
    const insight = await ask(SETS.slice(0, 10));
    const page = tryPage(insight, {
      namespace: "<script>",
      source: "<b>",
      notes: ["<img>"],
      folder: "out",
      files: [],
    });
    expect(page).not.toMatch(/<(?:script|img)/);
  });
});
