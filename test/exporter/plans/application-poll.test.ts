import { describe, expect, it } from "vitest";
import { APPLICATION_LIST_SCHEMA } from "@tradewind/core/contract/application-list.ts";
import type { ApplicationList, ApplicationState } from "@tradewind/core/contract/application-list.ts";
import { merged, onlyState } from "@tradewind/exporter/plans/application-poll.ts";

const listOf = (several: boolean, ...states: readonly [string, ApplicationState][]): ApplicationList => ({
  schema: APPLICATION_LIST_SCHEMA,
  several,
  applications: states.map(([name, state]) => ({
    namespace: "shop",
    name,
    origin: `crd:shop/${name}`,
    state,
  })),
});

describe("what several predictors plan", () => {
  it("is not asked by name where each plans one application only", () => {
    expect(merged([])).toBeUndefined();
    expect(merged([listOf(false, ["hotel", "planned"])])).toBeUndefined();
  });

  it("is not planned any more where the only application of all of them was deleted", () => {
    const [deleted, planned] = [listOf(false, ["hotel", "deleted"]), listOf(false, ["hotel", "planned"])];
    expect(onlyState([deleted, deleted])).toBe("deleted");
    expect(onlyState([deleted, planned])).toBe("planned");
    expect(onlyState([])).toBeUndefined();
    expect(onlyState([listOf(true, ["a", "deleted"])])).toBeUndefined();
  });

  it("is everything that one of them plans: deleted is what none plans any more", () => {
    const first = listOf(true, ["a", "planned"], ["b", "deleted"], ["c", "invalid"]);
    const second = listOf(true, ["b", "planned"], ["c", "deleted"], ["d", "deleted"]);
    expect(merged([first, second])?.map(({ name, state }) => `${name} ${state}`)).toEqual([
      "a planned",
      "b planned",
      "c invalid",
      "d deleted",
    ]);
  });

  it("comes with the names of services that other applications have too", () => {
    const list = listOf(true, ["a", "planned"]);
    const sharedNames = [{ service: "geo", outcome: "yields" as const }];
    const [only] = list.applications;
    const all = merged([{ ...list, applications: only === undefined ? [] : [{ ...only, sharedNames }] }]);
    expect(all?.[0]?.sharedNames).toEqual(sharedNames);
  });

  it("is nothing while there is no application, which is no reason to ask for the only one", () => {
    expect(merged([listOf(true)])).toEqual([]);
  });
});
