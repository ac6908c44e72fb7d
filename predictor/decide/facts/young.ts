import { mainContainers } from "@tradewind/core/measure/main-containers.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import type { CostSettings } from "./cost-settings.ts";

/** Some of the containers started so recently that they may still warm up. */
export const hasYoung = (
  window: Window | undefined,
  { youngSeconds }: Pick<CostSettings, "youngSeconds">,
): boolean =>
  window !== undefined &&
  mainContainers(window).some(({ startedAtMs = 0 }) => window.endMs - startedAtMs < 1e3 * youngSeconds);
