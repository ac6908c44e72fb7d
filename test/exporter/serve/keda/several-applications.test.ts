import { describe, expect, it } from "vitest";
import { answer } from "@tradewind/exporter/serve/keda/answer.ts";
import type { Answer } from "@tradewind/exporter/serve/keda/answer.ts";
import type { KnownKey } from "@tradewind/exporter/serve/keda/codec.ts";
import { ServedTable } from "@tradewind/exporter/keep/served-table.ts";
import type { ServedApplication } from "@tradewind/exporter/keep/served-table.ts";

const planned = (namespace: string, name: string): ServedApplication => ({
  namespace,
  name,
  state: "planned",
});
const SHOP = planned("shop", "hotel");
const BANK = planned("bank", "desk");

/** `search` of namespace `shop` is decided on by application `hotel`. */
function ask(applications: readonly ServedApplication[], namespace = "shop", application?: string): Answer {
  const table = new ServedTable();
  const decided = { application: "hotel", replicas: 5, decidedMs: 0, lifetimeMs: 60_000 };
  table.gather([{ namespace: "shop", service: "search", decided }]);
  table.putInForce();
  table.setApplications(applications);
  const metadata = new Map<KnownKey, string>([["service", "search"]]);
  if (application !== undefined) metadata.set("application", application);
  return answer({ name: "so", namespace, metricName: "m", metadata }, table, 1_000);
}

describe("a scaler of several applications", () => {
  it("needs no name where a namespace has one, whatever others have", () => {
    expect(ask([SHOP, BANK])).toEqual({ replicas: 5 });
    expect(ask([SHOP, { ...planned("shop", "broken"), state: "invalid" }])).toEqual({ replicas: 5 });
    expect(ask([SHOP, BANK], "shop", "hotel")).toEqual({ replicas: 5 });
  });

  it.each<[string, readonly ServedApplication[], string | undefined, Answer["problem"], RegExp]>([
    [
      "names those that a namespace has",
      [SHOP, planned("shop", "cart")],
      undefined,
      "invalid-argument",
      /lacks 'application': namespace 'shop' has the applications 'hotel', 'cart'/,
    ],
    [
      "knows no other application",
      [SHOP],
      "cart",
      "unavailable",
      /there is no application 'cart' in namespace 'shop': it has 'hotel'/,
    ],
    [
      "says that there is none",
      [BANK],
      undefined,
      "unavailable",
      /there is no application in namespace 'shop': none is planned there/,
    ],
    [
      "says that it was deleted",
      [{ ...SHOP, state: "deleted" }],
      undefined,
      "unavailable",
      /application 'hotel' in namespace 'shop' was deleted/,
    ],
    [
      "says whose a service is",
      [SHOP, planned("shop", "cart")],
      "cart",
      "unavailable",
      /belongs to application 'hotel', not 'cart'/,
    ],
  ])("%s", (_, applications, application, problem, message) => {
    expect(ask(applications, "shop", application)).toEqual({
      problem,
      message: expect.stringMatching(message) as string,
    });
  });

  it("says what is wrong with an application of which there is no decision", () => {
    const wrong: ServedApplication = { ...BANK, state: "invalid", problem: "objective: is missing" };
    expect(ask([wrong], "bank")).toMatchObject({
      message: expect.stringMatching(/yet: objective: is missing$/) as string,
    });
  });

  it("tells nobody of the applications of other namespaces", () => {
    const other = ask([SHOP, BANK], "dev");
    expect(other).toMatchObject({ problem: "unavailable" });
    expect(JSON.stringify(other)).not.toMatch(/hotel|desk/);
  });
});
