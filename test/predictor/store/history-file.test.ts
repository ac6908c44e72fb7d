import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findHistory } from "@tradewind/predictor/store/history-file.ts";
import { describe, expect, it, onTestFinished } from "vitest";

/** A directory with these stores in it. */
function directoryWith(...paths: readonly string[]): string {
  const directory = mkdtempSync(join(tmpdir(), "tradewind-state-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (const path of paths) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), "");
  }
  return directory;
}

const SHOP = "applications/shop/hotel/history.sqlite";
const BANK = "applications/bank/desk/history.sqlite";

describe("the store in a state directory", () => {
  it.each([
    ["a predictor of one application", ["history.sqlite"], {}, "history.sqlite"],
    ["tradewind local, beside the scaler's", ["predictor/history.sqlite"], {}, "predictor/history.sqlite"],
    ["the only application of a predictor for several", [SHOP], {}, SHOP],
    ["the application that is named", [SHOP, BANK], { application: "desk" }, BANK],
    ["the application whose namespace is named", [SHOP, BANK], { namespace: "shop" }, SHOP],
  ])("is found of %s", (_, paths, place, found) => {
    const directory = directoryWith(...paths);
    expect(findHistory(directory, place)).toBe(join(directory, found));
  });

  it("asks for an application where there are several, and says where none is", () => {
    expect(() => findHistory(directoryWith(SHOP, BANK))).toThrow(
      /name one with --application and --namespace: bank\/desk, shop\/hotel/,
    );
    expect(() => findHistory(directoryWith())).toThrow(/give --state the predictor's state directory/);
  });
});
