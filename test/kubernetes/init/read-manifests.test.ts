import { describe, expect, it } from "vitest";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { readManifests } from "@tradewind/kubernetes/init/read-manifests.ts";

describe("readManifests", () => {
  it.each([
    ["an alias without its anchor", "a: *b\n"],
    [
      "an alias that grows without end",
      `${Array.from({ length: 9 }, (_, i) => `a${i}: &a${i} [${`*a${i - 1},`.repeat(i === 0 ? 0 : 9)}x]`).join("\n")}\n`,
    ],
    ["a text that nests too deep to be read", "[".repeat(20_000)],
    ["what is no YAML", "a: b: c\n"],
  ])("names the file with %s", async (_what, text) => {
    const reading = readManifests(["-"], "shop", async () => text);
    await expect(reading).rejects.toBeInstanceOf(TradewindError);
    await expect(reading).rejects.toMatchObject({ code: "invalid-manifest" });
    await expect(reading).rejects.toThrow(/^-: /);
  });
});
