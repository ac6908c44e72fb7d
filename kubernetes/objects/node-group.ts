import { parse } from "yaml";
import { z } from "zod";
import type { Amounts, NodeGroup } from "@tradewind/core/contract/placing.ts";
import { TaintList } from "./capacity.ts";
import { StringMap } from "./metadata.ts";
import { AmountList, RequirementList } from "./pod-spec.ts";

/** A NodePool of Karpenter: it adds nodes of whatever size pods need, up to its limits. */
export const NodePool = z
  .object({
    metadata: z.object({ name: z.string().min(1) }),
    spec: z.object({
      limits: AmountList,
      template: z.object({
        metadata: z.object({ labels: StringMap }).nullish(),
        spec: z.object({
          taints: TaintList,
          requirements: RequirementList,
        }),
      }),
    }),
    status: z.object({ resources: AmountList }).nullish(),
  })
  .transform(({ metadata, spec: { limits, template }, status }): NodeGroup => {
    const used = status?.resources ?? {};
    const left = Object.entries(limits).map(([name, most]) => [name, Math.max(0, most - (used[name] ?? 0))]);
    return {
      name: metadata.name,
      labels: template.metadata?.labels ?? {},
      taints: template.spec.taints,
      requirements: template.spec.requirements,
      left: Object.fromEntries(left) as Amounts,
    };
  });

/** Where the Cluster Autoscaler says how it is doing, unless `--status-config-map-name` names another. */
export const AUTOSCALER_STATUS = { namespace: "kube-system", name: "cluster-autoscaler-status" } as const;

const MOST_STATUS = 1_000_000;
const Count = z.number().int().min(0);

/** Since release 1.30. */
const Structured = z.object({
  nodeGroups: z.array(
    z.object({
      name: z.string().min(1).max(253),
      health: z.object({ cloudProviderTarget: Count, maxSize: Count }),
    }),
  ),
});

const NAME = /^ {2}Name: {1,20}([^ ]{1,253})$/;
const SIZES = /cloudProviderTarget=(\d{1,9}) \(minSize=\d{1,9}, maxSize=(\d{1,9})\)/;

/** The node groups of a Cluster Autoscaler: which labels and taints their nodes have it does not say. */
export const AutoscalerStatus = z
  .object({ data: z.object({ status: z.string().max(MOST_STATUS) }) })
  .transform(({ data: { status } }): NodeGroup[] =>
    sizesIn(status).map(({ most, name, target }) => ({
      name,
      labels: {},
      taints: [],
      requirements: [],
      left: { nodes: Math.max(0, most - target) },
    })),
  );

interface GroupSizes {
  readonly name: string;
  readonly target: number;
  readonly most: number;
}

function sizesIn(status: string): GroupSizes[] {
  const read = Structured.safeParse(yamlOf(status));
  if (read.success)
    return read.data.nodeGroups.map(({ health, name }) => ({
      name,
      target: health.cloudProviderTarget,
      most: health.maxSize,
    }));
  const groups: GroupSizes[] = [];
  let name = "";
  for (const line of status.split("\n")) {
    name = NAME.exec(line)?.[1] ?? name;
    const [, target, most] = SIZES.exec(line) ?? [];
    if (most !== undefined && name !== "") groups.push({ name, target: Number(target), most: Number(most) });
  }
  return groups;
}

/** Undefined where it is none: earlier releases write prose. */
function yamlOf(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
