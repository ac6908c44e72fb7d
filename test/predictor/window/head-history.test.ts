import { describe, expect, it } from "vitest";
import { HeadHistory } from "../../../predictor/window/head-history.ts";

function historyOf(...entries: boolean[]): HeadHistory {
  const history = new HeadHistory();
  for (const callerArrived of entries) history.note(1, callerArrived);
  return history;
}

describe("head history", () => {
  it.each([
    { when: "nothing is known", entries: [], expects: false },
    { when: "most callers sent their spans", entries: [true, true, false], expects: true },
    { when: "most callers did not", entries: [true, false, false], expects: false },
  ])("when $when", ({ entries, expects }) => {
    expect(historyOf(...entries).expectsCaller(1)).toBe(expects);
  });

  it("knows nothing of another service", () => {
    expect(historyOf(true).expectsCaller(2)).toBe(false);
  });

  it("follows callers that stop sending within some thousand requests", () => {
    const history = historyOf(...Array.from({ length: 100_000 }, () => true));
    for (let request = 0; request < 2_000; request += 1) history.note(1, false);
    expect(history.expectsCaller(1)).toBe(false);
  });
});
