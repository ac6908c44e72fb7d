import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DROP_REASONS } from "../../../predictor/window/drops.ts";

describe("docs/windows.md", () => {
  const text = readFileSync(new URL("../../../docs/windows.md", import.meta.url), "utf8");

  it.each(DROP_REASONS)("explains what is counted as %s", (reason) => {
    expect(text).toContain(`\`${reason}\``);
  });
});
