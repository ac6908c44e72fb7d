import type { Application } from "@tradewind/core/contract/application.ts";
import { NODE_CLASSES_SCHEMA } from "@tradewind/core/contract/node-classes.ts";
import type {
  ClassHardware,
  NodeClass,
  NodeClassList,
  Placement,
} from "@tradewind/core/contract/node-classes.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { placementsOf } from "./placements.ts";
import type { PlacementGain } from "./placements.ts";
import type { WhatIf } from "../../decide/cost/price/what-if.ts";
import { RECENT_WINDOWS } from "../../models/recent-windows.ts";
import { factorOf } from "../../nodes/class-speeds.ts";
import type { ClassSpeedMemory } from "../../nodes/class-speeds.ts";
import { Moves } from "./moves.ts";
import type { OfferedMove } from "./moves.ts";
import { preferenceOf } from "./preference.ts";

/** Placements that are shown. */
const MOST_PLACEMENTS = 100;

/** A window that was decided on. */
export interface PlacedWindow {
  readonly application: Application;
  readonly windowSet: WindowSet;
  readonly decidedAtMs: number;
  /** Undefined where no live models decided. */
  readonly models: WhatIf | undefined;
  readonly speeds: ClassSpeedMemory | undefined;
  readonly workloads: WorkloadList | undefined;
  /** Class by name of the node. */
  readonly classes: ReadonlyMap<string, string>;
  /** CPU that is left, cores by node class. */
  readonly rooms: Readonly<Record<string, number>>;
  /** Storage and network, by node class. */
  readonly hardware?: ReadonlyMap<string, ClassHardware> | undefined;
}

/** Node classes of the last decision, and what services would gain on faster ones. Advice: nothing of it is carried out. */
export class Placing {
  private readonly moves = new Moves();
  private last: PlacedWindow | undefined;
  private windows = 0;

  adopt(window: PlacedWindow): void {
    this.last = window;
    if (window.speeds === undefined) return;
    this.moves.window(window.windowSet.windows, window.application.objective.percentile);
    // Expectations change slowly: every tenth of the windows that a comparison rests on is often enough.
    if (this.windows % (RECENT_WINDOWS / 10) === 0) this.moves.offer(gainsOf(window));
    this.windows += 1;
  }

  /** Empty where all nodes are of one class. */
  classes(): NodeClass[] {
    return this.last?.speeds === undefined ? [] : classesOf(this.last, this.last.speeds);
  }

  /** Undefined before the first decision. */
  list(): NodeClassList | undefined {
    const { last } = this;
    if (last === undefined) return undefined;
    const { application, decidedAtMs } = last;
    const { name, namespace, objective } = application;
    if (last.speeds !== undefined) this.moves.offer(gainsOf(last));
    const offered = this.moves.list().slice(0, MOST_PLACEMENTS);
    return {
      schema: NODE_CLASSES_SCHEMA,
      application: name,
      namespace,
      decidedAtMs,
      objective: { percentile: objective.percentile, seconds: objective.milliseconds / 1e3 },
      classes: this.classes(),
      placements: offered.map((each) => placementOf(each, last)),
    };
  }
}

const gainsOf = ({ application, models }: PlacedWindow): PlacementGain[] =>
  models === undefined ? [] : placementsOf(models.models(1), application.prices);

function classesOf({ classes, hardware, rooms }: PlacedWindow, speeds: ClassSpeedMemory): NodeClass[] {
  const nodes = new Map<string, number>();
  for (const nodeClass of classes.values()) nodes.set(nodeClass, (nodes.get(nodeClass) ?? 0) + 1);
  const described = (
    nodeClass: string,
  ): Pick<NodeClass, "nodeClass" | "nodes" | "roomCores" | keyof ClassHardware> => {
    const [count, roomCores] = [nodes.get(nodeClass), rooms[nodeClass]];
    return {
      nodeClass,
      ...(count !== undefined && { nodes: count }),
      ...(roomCores !== undefined && { roomCores }),
      ...hardware?.get(nodeClass),
    };
  };
  const measured = speeds.classes.map(({ comparisons, nodeClass }): NodeClass => {
    const factor = factorOf(comparisons);
    return {
      ...described(nodeClass),
      speed: factor?.isSignificant === true ? Math.exp(-factor.log) : 1,
      ...(factor && { lowSpeed: Math.exp(-factor.high), highSpeed: Math.exp(-factor.low) }),
      comparisons: factor?.comparisons ?? 0,
      isReference: false,
      isCounted: factor?.isSignificant === true,
    };
  });
  const reference = { speed: 1, comparisons: 0, isReference: true, isCounted: true };
  return [{ ...described(speeds.reference), ...reference }, ...measured];
}

function placementOf({ gain, measured }: OfferedMove, { application, workloads }: PlacedWindow): Placement {
  const found = workloads?.workloads.find(
    ({ namespace, service }) => namespace === application.namespace && service === gain.service,
  );
  return {
    ...gain,
    ...preferenceOf(gain.nodeClass, workloads?.nodes ?? []),
    ...(found && { workload: `${found.kind}/${found.name}` }),
    ...(measured && { measured }),
  };
}
