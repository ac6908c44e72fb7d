import { describe, expect, it } from "vitest";
import { CONTENDERS } from "./application.ts";
import { APPLICATIONS } from "./catalogue.ts";
import { estimateSeconds } from "./estimate.ts";
import { readOptions } from "./options.ts";
import { place, secondsOf } from "./phases.ts";

describe("phases of load", () => {
  it("come one right after the other, and those with the highest rate are the peak", () => {
    const phases = [
      { perSecond: 15, seconds: 40 },
      { perSecond: 60, seconds: 100 },
      { perSecond: 15, seconds: 40 },
    ];
    expect(place(phases).map(({ isPeak, startSeconds }) => [startSeconds, isPeak])).toEqual([
      [0, false],
      [40, true],
      [140, false],
    ]);
    expect(secondsOf(phases)).toBe(180);
  });
});

describe("what is asked for", () => {
  it("is every application under all contenders unless it is named", () => {
    expect(readOptions([])).toEqual({
      applications: APPLICATIONS,
      contenders: CONTENDERS,
      runs: undefined,
      json: false,
    });
    const asked = readOptions(["--only", "hotrod", "--contender=tradewind", "--runs", "2", "--json"]);
    expect(asked.applications.map(({ name }) => name)).toEqual(["hotrod"]);
    expect(asked).toMatchObject({ contenders: ["tradewind"], runs: 2, json: true });
  });

  it.each([
    [["--only", "boutique"], "--only is one of podinfo, hotrod, openfga, flower, httpbin, not 'boutique'"],
    [["--contender", "vpa"], "--contender is one of hpa-60, tradewind, tradewind-sizes, not 'vpa'"],
    [["--runs", "0"], "--runs is a number from 1 to 999, not '0'"],
    [["--runs", "many"], "--runs is a number from 1 to 999, not 'many'"],
    [["--fast"], "--fast"],
  ])("is refused where it is not known: %j", (words, why) => {
    expect(() => readOptions(words)).toThrow(why);
  });

  it("takes 107 minutes where nothing is named", () => {
    const tasks = APPLICATIONS.flatMap((application) =>
      CONTENDERS.map((contender) => ({ application, contender, runs: application.runs })),
    );
    // podinfo: 45 + 105 + 3 · 180 + 2 · 30 = 750 s. HotROD: 45 + 105 + 240 = 390 s. Three with 45 + 105 + 180 = 330 s. All three times.
    expect(estimateSeconds(tasks)).toBe(3 * (750 + 390 + 3 * 330));
    expect(estimateSeconds(tasks) / 60).toBeCloseTo(106.5);
  });
});
