import { z } from "zod";
import { Count, NonNegative } from "./quantity.ts";

/** Longest name of a label or resource: a DNS prefix, a slash and a name. */
const LONGEST_KEY = 317;
const Key = z.string().min(1).max(LONGEST_KEY);
const Text = z.string().max(LONGEST_KEY);
const NodeName = z.string().min(1).max(253);

/** What pods request or nodes have, by the name of the resource: cores of `cpu`, bytes of `memory`, counts of others. */
export const Amounts = z.record(Key, NonNegative);
export type Amounts = z.infer<typeof Amounts>;

export const Labels = z.record(Key, Text);

/** Keeps pods that do not tolerate it from a node, where its effect is `NoSchedule` or `NoExecute`. */
export const Taint = z.strictObject({ key: Key, value: Text.optional(), effect: Text });
export type Taint = z.infer<typeof Taint>;

export const Toleration = z.strictObject({
  key: Text.optional(),
  operator: Text.optional(),
  value: Text.optional(),
  effect: Text.optional(),
});
export type Toleration = z.infer<typeof Toleration>;

/** `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`. */
export const Requirement = z.strictObject({ key: Key, operator: Text, values: z.array(Text).max(1_000) });
export type Requirement = z.infer<typeof Requirement>;

/** All of it is asked of a node: of its labels, and of its name. */
export const NodeTerm = z.strictObject({
  labels: z.array(Requirement).max(100),
  names: z.array(Requirement).max(100),
});
export type NodeTerm = z.infer<typeof NodeTerm>;

/** Pods that count for where the next one may go. */
export const PodRule = z.strictObject({
  /** Nodes with the same value of this label are one place; without it in the rule each node is a place of its own. */
  topologyKey: Key.optional(),
  /** By name of their node. */
  pods: z.record(NodeName, Count),
  /** The next pod counts for those after it. */
  countsItself: z.boolean(),
});
export type PodRule = z.infer<typeof PodRule>;

export const SpreadRule = PodRule.extend({
  topologyKey: Key,
  /** How many pods more than the emptiest place one may have. */
  maxSkew: z.number().int().positive(),
  /** With fewer places than this the emptiest one counts as empty. */
  minDomains: z.number().int().positive().optional(),
  /** Nodes that the pod's own selectors leave out, or whose taints it does not tolerate, are no places. */
  honorsLabels: z.boolean(),
  honorsTaints: z.boolean(),
});
export type SpreadRule = z.infer<typeof SpreadRule>;

/** What the next pod of a workload asks of the node that is to take it. */
export const Placing = z.strictObject({
  requests: Amounts,
  labels: Labels.optional(),
  /** One of them has to be met. */
  terms: z.array(NodeTerm).max(100).optional(),
  tolerations: z.array(Toleration).max(1_000).optional(),
  /** Only where such pods are. */
  together: z.array(PodRule).max(100).optional(),
  /** Only where no such pods are. */
  apart: z.array(PodRule).max(1_000).optional(),
  spread: z.array(SpreadRule).max(100).optional(),
});
export type Placing = z.infer<typeof Placing>;

/** Nodes that an autoscaler can still add, all alike. */
export const NodeGroup = z.strictObject({
  name: z.string().min(1).max(253),
  /** Of one node; absent where the autoscaler chooses among sizes. */
  node: Amounts.optional(),
  labels: Labels,
  taints: z.array(Taint).max(100),
  /** What its nodes' labels may be beyond those that are set. */
  requirements: z.array(Requirement).max(100),
  /** What may come in all; absent amounts are not bounded. */
  left: Amounts,
});
export type NodeGroup = z.infer<typeof NodeGroup>;
