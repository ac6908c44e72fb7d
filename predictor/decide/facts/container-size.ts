import type { Application, ServiceSpec } from "@tradewind/core/contract/application.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { mainContainers } from "@tradewind/core/measure/main-containers.ts";
import { containerSize, roundedUp } from "./size.ts";
import type { ContainerSize } from "./size.ts";
import type { ServiceMemory } from "./state.ts";

/** The size of a service's containers as a decision sees it. */
export interface ContainerFacts {
  /** Mean size that runs; memory 0 where none is allocated. */
  readonly runningContainer?: ContainerSize;
  /** Size the decision starts from: the last wish, or what runs where there is none or somebody else changed it. */
  readonly container?: ContainerSize;
  readonly resizable: { readonly cpu: boolean; readonly memory: boolean };
  /**
   * A size was wished that does not run yet. More memory than wished does not count: it makes nothing faster, and what is
   * resident may keep the platform from ever lowering a limit.
   */
  readonly resizing: boolean;
}

/** Whether decisions change what runs. */
export const isCarriedOut = ({ mode }: Application): boolean => mode === "act";

/** Sizes that differ by less than this share are the same. */
const SAME_SIZE_RATIO = 0.02;

/** A size that is this near to the one wished may be left alone by whoever resizes. */
const LEFT_ALONE_RATIO = 0.15;
/** A larger size that has not come after this time does not come; a smaller one is waited for as long as actuators watch first. */
const LARGER_MS = 300_000;
const SMALLER_MS = 3_600_000;
/** It is wished again after this time. */
const AGAIN_MS = 3_600_000;

type UnmovedNote = Pick<ServiceMemory, "cpuUnmovedSinceMs">;

/** Notes since when a wish for another CPU size has not been carried out. @param wishedCores the wish of now */
export function unmovedAfter(
  memory: ServiceMemory | undefined,
  wishedCores: number | undefined,
  runningCores: number | undefined,
  nowMs: number,
): UnmovedNote {
  if (wishedCores === undefined || runningCores === undefined) return {};
  if (Math.abs(wishedCores - runningCores) <= LEFT_ALONE_RATIO * runningCores) return {};
  const {
    cpuCores: before = wishedCores,
    cpuUnmovedSinceMs = nowMs,
    platformCpuCores = runningCores,
  } = memory ?? {};
  const isTurned = before > runningCores !== wishedCores > runningCores;
  const since = isTurned ? nowMs : cpuUnmovedSinceMs;
  const isOver = nowMs - since > AGAIN_MS + patience(wishedCores, runningCores);
  return { cpuUnmovedSinceMs: isOver || !isSame(platformCpuCores, runningCores) ? nowMs : since };
}

/** The last wish for another CPU size was not carried out: decisions do not count on it for a while. */
function isUnmoved(memory: ServiceMemory | undefined, runningCores: number, nowMs: number): boolean {
  const { cpuCores, cpuUnmovedSinceMs: since, platformCpuCores = runningCores } = memory ?? {};
  if (cpuCores === undefined || since === undefined || !isSame(platformCpuCores, runningCores)) return false;
  const waitedMs = nowMs - since - patience(cpuCores, runningCores);
  return waitedMs > 0 && waitedMs <= AGAIN_MS;
}

const patience = (wishedCores: number, runningCores: number): number =>
  wishedCores > runningCores ? LARGER_MS : SMALLER_MS;

/** @param stale the last wish is so old that others may have decided since: then the larger of wish and what runs */
export function containerFacts(
  application: Application,
  window: Window | undefined,
  memory: ServiceMemory | undefined,
  stale: boolean,
  nowMs: number,
): ContainerFacts {
  const running = window === undefined ? undefined : containerSize(window);
  const allowed = resizableIn(application, window);
  if (running === undefined) return { resizable: allowed, resizing: false };
  const last = isCarriedOut(application) ? memory : undefined;
  const resizable = { ...allowed, cpu: allowed.cpu && !isUnmoved(last, running.cpuCores, nowMs) };
  const cpuCores = start(running.cpuCores, last?.cpuCores, last?.platformCpuCores, stale);
  const memoryBytes = start(running.memoryBytes, last?.memoryBytes, last?.platformMemoryBytes, stale);
  const container = {
    cpuCores: resizable.cpu ? cpuCores : running.cpuCores,
    memoryBytes: resizable.memory ? memoryBytes : running.memoryBytes,
  };
  const lacksMemory =
    running.memoryBytes < container.memoryBytes && !isSame(container.memoryBytes, running.memoryBytes);
  const resizing = !isSame(container.cpuCores, running.cpuCores) || lacksMemory;
  return { runningContainer: running, container, resizable, resizing };
}

/**
 * Limits bind, so moving them moves latency. Requests do so only where no limit stands above them: a container that has one
 * gets no more from a larger request.
 */
function resizableIn(
  { resize = "off" }: Application,
  window: Window | undefined,
): ContainerFacts["resizable"] {
  const containers = window === undefined ? [] : mainContainers(window);
  if (resize === "off" || containers.length === 0) return { cpu: false, memory: false };
  if (resize === "limits") return { cpu: true, memory: true };
  return {
    cpu: containers.every(({ cpuLimitCores }) => cpuLimitCores === undefined),
    memory: containers.every(({ memoryLimitBytes }) => memoryLimitBytes === undefined),
  };
}

function start(
  running: number,
  wished: number | undefined,
  runningThen: number | undefined,
  stale: boolean,
): number {
  if (wished === undefined || running === 0) return running;
  if (stale) return Math.max(wished, running);
  const [low, high] = [Math.min(wished, runningThen ?? wished), Math.max(wished, runningThen ?? wished)];
  const isOnTheWay = running >= low * (1 - SAME_SIZE_RATIO) && running <= high * (1 + SAME_SIZE_RATIO);
  return isOnTheWay ? wished : running;
}

function isSame(a: number, b: number): boolean {
  return Math.abs(a - b) <= SAME_SIZE_RATIO * Math.max(a, b);
}

/** A service with a size: as much of an observation as a size is stated by. */
interface SizedService extends ContainerFacts {
  readonly memory?: ServiceMemory;
  readonly spec: ServiceSpec;
}

/** The parts of an allocation that state a container's size. */
export interface StatedSize {
  readonly cpuCores?: number;
  readonly memoryBytes?: number;
}

/**
 * What a wish says of the size: nothing of what was never wished and stays as it runs, else a whole number of steps within
 * the service's bounds.
 */
export function statedSize(
  { memory, resizable, runningContainer, spec }: SizedService,
  size: ContainerSize | undefined,
): StatedSize {
  if (size === undefined || runningContainer === undefined) return {};
  const isStated = (wished: number, running: number, before: number | undefined): boolean =>
    wished > 0 && (before !== undefined || !isSame(wished, running));
  return {
    ...(resizable.cpu &&
      isStated(size.cpuCores, runningContainer.cpuCores, memory?.cpuCores) && {
        cpuCores: fitted(size.cpuCores, spec.cpu.stepCores, spec.cpu.minCores, spec.cpu.maxCores),
      }),
    ...(resizable.memory &&
      isStated(size.memoryBytes, runningContainer.memoryBytes, memory?.memoryBytes) && {
        memoryBytes: fitted(
          size.memoryBytes,
          spec.memory.stepBytes,
          spec.memory.minBytes,
          spec.memory.maxBytes,
        ),
      }),
  };
}

/** As the guard does, so that it has nothing to change. */
function fitted(value: number, step: number, min: number, max: number): number {
  return Math.max(min, Math.min(roundedUp(value, step), max));
}
