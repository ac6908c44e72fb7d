import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Calibration } from "@tradewind/local/application/work.ts";
import { sharedCalibration } from "@tradewind/local/supervise/calibration-file.ts";

const MEASURED: Calibration = { spinsPerMilli: 400_000, touchesPerMilli: 20_000 };
const OTHER: Calibration = { spinsPerMilli: 300_000, touchesPerMilli: 10_000 };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tradewind-calibration-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("is measured for this run alone without a file", async () => {
  expect(await sharedCalibration(undefined, () => MEASURED)).toEqual(MEASURED);
});

it("is measured once by all runs that share a file", async () => {
  const path = join(folder, "work.json");
  expect(await sharedCalibration(path, () => MEASURED)).toEqual(MEASURED);
  expect(await sharedCalibration(path, () => OTHER)).toEqual(MEASURED);
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(MEASURED);
});

it.each([
  { what: "no JSON", text: "fast" },
  { what: "no calibration", text: '{"spinsPerMilli":-1,"touchesPerMilli":1}' },
])("refuses a file that holds $what, and leaves it as it is", async ({ text }) => {
  const path = join(folder, "work.json");
  writeFileSync(path, text);
  await expect(sharedCalibration(path, () => MEASURED)).rejects.toThrow("work.json");
  expect(readFileSync(path, "utf8")).toBe(text);
});

it("says which file it cannot read or write", async () => {
  await expect(sharedCalibration(folder, () => MEASURED)).rejects.toThrow(`could not be read: ${folder}`);
  const nowhere = join(folder, "none", "work.json");
  await expect(sharedCalibration(nowhere, () => MEASURED)).rejects.toThrow(
    `could not be written: ${nowhere}`,
  );
});
