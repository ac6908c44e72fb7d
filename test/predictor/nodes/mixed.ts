import type { ContainerWindow, Window } from "@tradewind/core/contract/window.ts";
import { START_MS, window, WINDOW_MS } from "../measurements.ts";

/** Containers on nodes of one class: how many, and the CPU that each uses. */
export interface OnClass {
  readonly nodeClass: string;
  readonly count: number;
  readonly usageCores: number;
  readonly container?: Partial<ContainerWindow>;
}

/** A window of a service with 60 requests a second, or as it is said, on nodes of several classes. */
export function mixed(
  service: string,
  classes: readonly OnClass[],
  { at = 0, ...overrides }: Partial<Window> & { readonly at?: number } = {},
): Window {
  const containers = classes.flatMap(({ container, count, nodeClass, usageCores }) =>
    Array.from({ length: count }, (_, pod): ContainerWindow => ({
      id: `${service}-${nodeClass}-${pod}`,
      podName: `${service}-${nodeClass}-${pod}`,
      node: `${nodeClass}-${pod}`,
      nodeClass,
      startedAtMs: START_MS - 600_000,
      cpuLimitCores: 1,
      cpuUsageCores: usageCores,
      ...container,
    })),
  );
  const facts = { service, replicas: containers.length, rate: 60, ownSeconds: 0.05 };
  return { ...window(facts, START_MS + at * WINDOW_MS), containers, ...overrides };
}
