import { COURSE_SCHEMA, MEASURED_SCHEMA } from "@tradewind/core/contract/measured.ts";
import { Prices } from "@tradewind/core/contract/prices.ts";
import { Courses } from "@tradewind/exporter/decide/course/courses.ts";
import { followCourse } from "@tradewind/exporter/decide/course/follow.ts";
import { describe, expect, it } from "vitest";

const PLACE = { namespace: "shop", application: "hotel" };
const ANSWERS: Readonly<Record<string, object>> = {
  "/v1/course": {
    schema: COURSE_SCHEMA,
    ...PLACE,
    points: [{ atMs: 1_000, objectiveSeconds: 0.2, requestsPerSecond: 5, overRatio: 0 }],
    deploys: [],
  },
  "/v1/measured": { schema: MEASURED_SCHEMA, services: [] },
};

async function followed(isPlanned: boolean): Promise<Courses> {
  const courses = new Courses();
  const look = {
    ...PLACE,
    plannedAtMs: 1_000,
    prices: Prices.parse({}),
    recommendations: [],
    objectiveSeconds: 0.2,
  };
  const answer = async ({ path }: { readonly path: string }) =>
    Promise.resolve({ status: 200, body: Buffer.from(JSON.stringify(ANSWERS[path])) });
  await followCourse(look, {
    courses,
    fetcher: { address: "http://predictor", answer },
    isPlanned: () => isPlanned,
    log: { debug: () => undefined },
  });
  return courses;
}

describe("following the course of an application", () => {
  it("keeps the windows that the predictor measured", async () => {
    expect((await followed(true)).points(PLACE)).toHaveLength(1);
  });

  it("opens no course again for an application that went away while the predictor was asked", async () => {
    expect((await followed(false)).places()).toEqual([]);
  });
});
