import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { nodeClassOf } from "./node-class.ts";
import type { NodeFacts } from "./node-class.ts";

/** Class by name of the node. Empty where all nodes that are known are of one class and always were: there is nothing to tell apart. */
export type NodeClasses = ReadonlyMap<string, string>;

/** What an agent has read of the hardware of a node, by its name. */
export type Inventories = ReadonlyMap<string, { readonly inventory?: NodeFacts["inventory"] }>;

/**
 * Classes of the nodes that the platform lists; where it lists none, of those whose agents sent an inventory. Empty where all are of
 * one class: speeds then need no telling apart.
 * @param wereMixed nodes of several classes were seen before: a single class is then given as well
 */
export function nodeClassesOf(
  list: WorkloadList | undefined,
  inventories: Inventories = new Map(),
  wereMixed = false,
): NodeClasses {
  const classes = new Map<string, string>();
  const classify = (name: string, facts: NodeFacts): void => {
    const nodeClass = nodeClassOf(facts);
    if (nodeClass !== undefined) classes.set(name, nodeClass);
  };
  const listed = list?.nodes ?? [];
  for (const { instanceType, name } of listed)
    classify(name, { instanceType, inventory: inventories.get(name)?.inventory });
  if (listed.length === 0) for (const [name, facts] of inventories) classify(name, facts);
  return wereMixed || new Set(classes.values()).size > 1 ? classes : new Map();
}
