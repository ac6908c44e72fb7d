import { Fleet } from "@tradewind/core/contract/fleet.ts";
import { KeptCourse } from "@tradewind/core/contract/measured.ts";
import { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { describe, expect, it } from "vitest";
import { runningExporter } from "../../running-exporter.ts";
import { planning } from "../../several-applications.ts";
import { until } from "../../until.ts";

const SHOP = { name: "shop", latencySeconds: 0.12, frontendReplicas: 2 };
const BANK = { name: "bank", latencySeconds: 0.3, frontendReplicas: 5 };
const NEWS = { name: "news", latencySeconds: 0.19, frontendReplicas: 3 };

async function running(applications = [SHOP, BANK, NEWS], input = {}) {
  const exporter = await runningExporter(undefined, input);
  exporter.predictor.behave(planning(applications));
  const json = async (path: string): Promise<unknown> => (await fetch(`${exporter.http}${path}`)).json();
  const fleet = async (): Promise<Fleet> => Fleet.parse(await json("/v1/fleet"));
  await until("every application has a course", async () => {
    const { applications: rows } = await fleet();
    const known = rows.filter(
      ({ cluster, budgetLeftRatio }) => cluster === undefined && budgetLeftRatio !== undefined,
    );
    return known.length === applications.length;
  });
  return { exporter, fleet, json };
}

describe("the fleet", () => {
  it("has each application in one line, the one that misses first, with its own numbers and names", async () => {
    const { fleet } = await running();
    const { applications } = await fleet();
    expect(applications.map(({ name }) => name)).toEqual(["bank", "news", "shop"]);
    const [bank, news, shop] = applications;
    expect(bank).toMatchObject({
      namespace: "bank",
      mode: "act",
      services: 3,
      replicasReady: 6,
      replicas: 9,
      costPerHour: 0.1,
      recommendedCostPerHour: 0.12,
      lastChange: { service: "frontend", what: "replicas 2 → 5" },
    });
    expect(bank!.sloRatio).toBeCloseTo(1.5, 9);
    expect(bank!.budgetLeftRatio).toBeCloseTo(-7, 9);
    expect(bank!.course.at(-1)).toBeCloseTo(1.5, 9);
    expect(news!.lastChange).toMatchObject({ service: "frontend", what: "replicas 2 → 3" });
    expect(news!.budgetLeftRatio).toBeCloseTo(0.8, 9);
    expect(shop).not.toHaveProperty("lastChange");
  });

  it("has those of other clusters' scalers beside its own, and says which cannot be had", async () => {
    const other = await running([{ ...SHOP, name: "travel", latencySeconds: 0.9 }]);
    const gone = "http://127.0.0.1:1";
    const { fleet } = await running([BANK], { fleet: `${other.exporter.http},${gone}` });
    const { applications, unreachable } = await fleet();
    expect(applications.map(({ cluster, name }) => [name, cluster])).toEqual([
      ["travel", other.exporter.http],
      ["bank", undefined],
    ]);
    expect(unreachable).toEqual([
      { cluster: gone, problem: expect.stringContaining("127.0.0.1:1") as string },
    ]);
  });
});

describe("the course of the last day", () => {
  it("is still answered when the predictor is gone, which is said with its time", async () => {
    const { exporter, json } = await running([BANK]);
    await exporter.predictor.stop();
    await until("the silence is noticed", async () => {
      const { applications = [] } = RecommendationList.parse(await json("/v1/recommendations"));
      return (applications[0]?.silentSeconds ?? 0) > 0;
    });
    const course = KeptCourse.parse(await json("/v1/course"));
    expect(course.points).toHaveLength(20);
    expect(course.points.at(-1)).toMatchObject({
      latencySeconds: 0.3,
      objectiveSeconds: 0.2,
      requestsPerSecond: 40,
      overRatio: 0.4,
      replicas: 6,
      recommendedReplicas: 9,
      cpuCores: 3,
      cpuUsedCores: 1.5,
      costPerHour: 0.1,
    });
  });

  it("is that of one service where it is named, and asks for one application where there are several", async () => {
    const { exporter, json } = await running();
    const course = KeptCourse.parse(await json("/v1/course?application=bank&service=frontend"));
    expect(course).toMatchObject({ application: "bank", service: "frontend" });
    expect(course.points).toMatchObject([
      { replicas: 2, recommendedReplicas: 5, cpuCores: 1, cpuUsedCores: 0.5 },
    ]);
    const several = await fetch(`${exporter.http}/v1/course`);
    expect(several.status).toBe(400);
    expect(await several.json()).toMatchObject({ error: { code: "several-applications" } });
    expect((await fetch(`${exporter.http}/v1/course?application=nobody`)).status).toBe(404);
    expect((await fetch(`${exporter.http}/v1/course?since=never`)).status).toBe(400);
  });
});
