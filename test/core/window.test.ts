import { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { describe, expect, it } from "vitest";
import { START_MS, window, windowSet } from "../predictor/measurements.ts";

const WINDOW = window({ service: "geo", replicas: 1, rate: 10, ownSeconds: 0.01 });

describe("the time of a window", () => {
  it.each([0, -1, -1.7e12])(
    "is refused where the window ends %d ms after it began, alone and in a set",
    (lengthMs) => {
      const endMs = Math.max(0, START_MS + lengthMs);
      expect(Window.safeParse({ ...WINDOW, endMs }).error?.issues).toMatchObject([{ path: ["endMs"] }]);
      expect(WindowSet.safeParse({ ...windowSet([]), startMs: START_MS, endMs }).error?.issues).toMatchObject(
        [{ path: ["endMs"], message: "must be after startMs" }],
      );
    },
  );

  it("is taken as it is where the window has a length", () => {
    expect(Window.parse(WINDOW)).toEqual(WINDOW);
    expect(WindowSet.safeParse(windowSet([WINDOW])).success).toBe(true);
  });
});
