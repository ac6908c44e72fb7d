import type { Inventory } from "@tradewind/core/contract/snapshot.ts";
import { NodeClassName } from "@tradewind/core/contract/quantity.ts";

/** What is known of the hardware of one node. */
export interface NodeFacts {
  /** The platform's name for such machines. */
  readonly instanceType?: string | undefined;
  /** As the node's agent read it. */
  readonly inventory?: Pick<Inventory, "cpuModel" | "cpuCores"> | undefined;
}

/** Longest value of a Kubernetes label, and what one may be from its first letter or digit to its last. */
const LONGEST = 63;
const LABEL_VALUE = /[A-Za-z0-9](?:.*[A-Za-z0-9])?/;

/**
 * Nodes with the same class are taken to be equally fast: the instance type where the platform states one, else CPU model and
 * number of CPUs, as a label value (`AMD-EPYC-7B13-8-cpus`). Undefined where neither is known.
 */
export function nodeClassOf({ instanceType, inventory }: NodeFacts): string | undefined {
  if (instanceType !== undefined && NodeClassName.safeParse(instanceType).success) return instanceType;
  const { cpuCores, cpuModel } = inventory ?? {};
  if (cpuModel === undefined) return undefined;
  const count = cpuCores === undefined ? "" : `-${cpuCores}-cpus`;
  const model = cpuModel
    .replaceAll(/\((?:r|tm)\)/gi, "")
    .replaceAll(/[^A-Za-z0-9.]+/g, "-")
    .slice(0, LONGEST - count.length);
  const name = `${LABEL_VALUE.exec(model)?.[0] ?? ""}${count}`;
  return NodeClassName.safeParse(name).data;
}
