import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { Contender } from "./contender.ts";

/** The contender, with all windows that it gets kept in `sets`. */
export const recorded = (contender: Contender, sets: WindowSet[]): Contender => ({
  ...contender,
  start(setting, parameters) {
    const brain = contender.start(setting, parameters);
    return {
      ...brain,
      async onWindow(window) {
        sets.push(window.windowSet);
        await brain.onWindow?.(window);
      },
    };
  },
});
