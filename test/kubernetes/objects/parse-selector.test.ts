import { parseSelector, selects } from "@tradewind/kubernetes/objects/label-selector.ts";
import { describe, expect, it } from "vitest";

describe("a selector as /scale writes it", () => {
  const labels = { app: "web", tier: "front" };
  it.each([
    ["app=web", true],
    ["app==web,tier=front", true],
    ["app=web,tier=back", false],
    ["app in (api, web),tier notin (back,data)", true],
    ["app notin (web)", false],
    ["tier!=back,app", true],
    ["!canary, app=web", true],
    ["canary", false],
  ])("%s", (text, isMet) => {
    expect(selects(parseSelector(text)!, labels)).toBe(isMet);
  });

  it.each(["", "app in web", "app in (a", "a=b=c", "a b", "x".repeat(5_000), "a,".repeat(200)])(
    "that is not understood is none: %j",
    (text) => {
      expect(parseSelector(text)).toBeUndefined();
    },
  );
});
