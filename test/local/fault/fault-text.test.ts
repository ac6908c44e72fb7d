import { describe, expect, it } from "vitest";
import { LocalOptions } from "@tradewind/local/options.ts";

const faultOf = (fault: string) => LocalOptions.parse({ fault }).fault;
const refusal = (fault: string): string => LocalOptions.safeParse({ fault }).error?.issues[0]?.message ?? "";

describe("--fault", () => {
  it.each([
    ["rate:cpu", { service: "rate", kind: "cpu", fromSeconds: 45, forSeconds: 40 }],
    ["geo:network@1m", { service: "geo", kind: "network", fromSeconds: 60, forSeconds: 40 }],
    ["user:deploy@10s+500ms", { service: "user", kind: "deploy", fromSeconds: 10, forSeconds: 0.5 }],
  ])("reads %s", (text, fault) => {
    expect(faultOf(text)).toEqual(fault);
  });

  it.each([
    ["rate", "SERVICE:KIND"],
    ["rate:flood", "cpu, network, dependency, errors, limit, deploy"],
    ["rate:cpu@soon", "--fault rate:cpu@soon"],
    ["cart:cpu", "hotel has no service 'cart', only frontend"],
  ])("refuses %s and says what it takes", (text, words) => {
    expect(refusal(text)).toContain(words);
  });
});
