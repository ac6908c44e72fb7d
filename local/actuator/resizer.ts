import type { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { isSameSize } from "../application/container-size.ts";
import type { Fleet, ServiceState } from "../application/fleet.ts";
import type { ContainerSize, SizeBounds } from "../application/topology.ts";

/** A change of the size of all replicas of one service that was carried out. */
export interface Resize {
  readonly service: string;
  readonly from: ContainerSize;
  readonly to: ContainerSize;
}

/** Resizes running replicas as an in-place pod resize would. Does nothing while recommendations carry no size. */
export interface Resizer {
  /** Applies what is recommended now. Recommendations that are no longer valid change nothing. */
  apply(list: RecommendationList | undefined): Promise<void>;
}

type Recommended = RecommendationList["recommendations"][number];

type RecommendedSize = Pick<Recommended, "cpuCores" | "memoryBytes">;

/** What is only advised moves nothing. */
function sizeToMove({ advised = [], cpuCores, memoryBytes }: Recommended): RecommendedSize {
  return {
    ...(cpuCores !== undefined && !advised.includes("cpu") && { cpuCores }),
    ...(memoryBytes !== undefined && !advised.includes("memory") && { memoryBytes }),
  };
}

function within(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

/** The recommended size; what the recommendation leaves open stays as it is. Bounds hold as a LimitRange does. */
export function recommendedSize(
  { cpuCores, memoryBytes }: RecommendedSize,
  current: ContainerSize,
  { min, max }: SizeBounds,
): ContainerSize {
  return {
    cpuCores: cpuCores === undefined ? current.cpuCores : within(cpuCores, min.cpuCores, max.cpuCores),
    memoryBytes:
      memoryBytes === undefined
        ? current.memoryBytes
        : Math.round(within(memoryBytes, min.memoryBytes, max.memoryBytes)),
  };
}

export function createResizer(
  fleet: Pick<Fleet, "states" | "resize">,
  onResize: (resize: Resize) => void,
): Resizer {
  const follow = async (
    { definition, size: from }: ServiceState,
    recommended: RecommendedSize,
  ): Promise<void> => {
    const to = recommendedSize(recommended, from, definition.sizeBounds);
    // Also when nothing is new: a limit that what was resident forbade may be possible by now.
    await fleet.resize(definition.name, to);
    if (!isSameSize(from, to)) onResize({ service: definition.name, from, to });
  };
  return {
    async apply(list) {
      for (const state of fleet.states()) {
        const recommended = list?.recommendations.find(({ service }) => service === state.definition.name);
        if (recommended?.valid !== true) continue;
        const size = sizeToMove(recommended);
        if (size.cpuCores === undefined && size.memoryBytes === undefined) continue;
        await follow(state, size);
      }
    },
  };
}
