import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import type { ApplicationModel, RouteModel, ServiceModel, StepModel } from "../model/application-model.ts";
import { fixed } from "../model/distribution.ts";
import { around, service, store } from "./parts.ts";

/**
 * Shares of services at Alibaba that are entries, in the middle and leaves: 13, 48 and 39 % (Winchester et al., Complexity at
 * Scale, arXiv 2504.13141, Table 1). Of those in the middle some call nobody here: 42 to 56 % are leaves in the end.
 */
const ENTRY_SHARE = 0.13;
const MIDDLE_SHARE = 0.48;
/**
 * Call graphs there are trees of heavy-tailed size, most services have one caller, and a twentieth are hot spots that many
 * share (Luo et al., Characterizing Microservice Dependency and Performance, SoCC 2021).
 */
const HOT_SHARE = 0.05;
const HOT_CHANCE = 0.3;
/** Sizes of call graphs: Pareto with this least size and exponent, cut at the greatest. */
const LEAST_SIZE = 8;
const SIZE_EXPONENT = 1.1;
const GREATEST_SIZE = 400;
const SERVICES_PER_ROUTE = 40;
/** Services in a chain of calls at most. */
const LEVELS = 6;
/** Calls of one stage at most, and the chance that a call runs beside the one before it. */
const WIDEST = 5;
const PARALLEL_CHANCE = 0.5;
const STORE_CHANCE = 0.5;

export interface Generated {
  /** Services, up to 2,500. */
  readonly services: number;
  readonly seed: number;
  /** Mean CPU of one call, ms. Default 3. */
  readonly cpuMs?: number;
}

/** One call in the tree of a route: a service, its work, and the calls below it. */
interface Node {
  readonly service: number;
  readonly level: number;
  readonly children: Node[];
}

/** An application that nobody wrote, with the published proportions of large ones. Every service is on some route. */
export function generated({ cpuMs = 3, seed, services }: Generated): ApplicationModel {
  return new Generator(services, cpuMs, seededRng(seed)).application(`generated-${services}`);
}

class Generator {
  private readonly rng: Rng;
  private readonly cpuMs: number;
  private readonly operations: Record<string, StepModel[]>[];
  /** Numbers of services by level; 0 is the gateway alone. */
  private readonly levels: number[][];
  /** Services that are on no route yet, by level. */
  private readonly unused: number[][];

  constructor(count: number, cpuMs: number, rng: Rng) {
    this.rng = rng;
    this.cpuMs = cpuMs;
    this.operations = Array.from({ length: count }, () => ({}));
    this.levels = levelsOf(count);
    this.unused = this.levels.map((level) => level.slice());
  }

  application(name: string): ApplicationModel {
    const count = this.operations.length;
    const routes = Math.max(3, Math.round(count / SERVICES_PER_ROUTE));
    const trees = Array.from({ length: routes }, () => this.tree(this.size()));
    this.placeUnused(trees);
    const models = trees.map((tree, route) => this.route(tree, route, routes));
    return {
      name,
      entry: nameOf(0),
      services: this.operations.map((operations, index): ServiceModel => service(nameOf(index), operations)),
      routes: models,
      networkMs: fixed(0.2),
    };
  }

  private size(): number {
    const drawn = LEAST_SIZE * (1 - this.rng()) ** (-1 / SIZE_EXPONENT);
    return Math.min(GREATEST_SIZE, this.operations.length, Math.round(drawn));
  }

  private tree(size: number): Node {
    const root: Node = { service: 0, level: 0, children: [] };
    const open = [root];
    for (let nodes = 1; nodes < size && open.length > 0; nodes += 1) {
      // Late ones are chosen more often, so that chains form.
      const parent = open[Math.floor(open.length * Math.sqrt(this.rng()))] ?? root;
      const child = this.child(parent);
      if (child === undefined) open.splice(open.indexOf(parent), 1);
      else if (this.levels[child.level + 1] !== undefined) open.push(child);
    }
    return root;
  }

  /** Undefined when there is no level below. */
  private child(parent: Node): Node | undefined {
    const level = parent.level + 1;
    const all = this.levels[level];
    if (all === undefined || all.length === 0) return undefined;
    const isHot = this.rng() < HOT_CHANCE;
    const fresh = isHot ? undefined : this.unused[level]?.pop();
    // Of the hot ones some are hotter than others.
    const among = isHot ? Math.ceil(HOT_SHARE * all.length) * this.rng() : all.length;
    const chosen = fresh ?? all[Math.floor(among * this.rng())];
    const child: Node = { service: chosen ?? 0, level, children: [] };
    parent.children.push(child);
    return child;
  }

  /** Services that no tree has go below nodes of the level above, first below those that call nobody. */
  private placeUnused(trees: readonly Node[]): void {
    for (const [level, services] of this.unused.entries()) {
      if (level === 0) continue;
      const parents = trees.flatMap((tree) => nodesAt(tree, level - 1));
      const idle = parents.filter(({ children }) => children.length === 0);
      for (const each of services) {
        const parent = idle.pop() ?? parents[Math.floor(this.rng() * parents.length)];
        parent?.children.push({ service: each, level, children: [] });
      }
    }
  }

  /** Routes are asked for by Zipf's law. */
  private route(tree: Node, route: number, routes: number): RouteModel {
    const operation = this.operation(tree, route);
    const weights = Array.from({ length: routes }, (_, index) => 1 / (index + 1));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return {
      name: `GET /r${route}`,
      service: nameOf(0),
      operation,
      share: (weights[route] ?? 0) / total,
    };
  }

  /** Writes the operation of a node and those below it. @returns its name */
  private operation(node: Node, route: number): string {
    const steps: StepModel[] = [];
    let stage: { service: string; operation: string }[] = [];
    for (const child of node.children) {
      const call = { service: nameOf(child.service), operation: this.operation(child, route) };
      const beside = stage.length > 0 && stage.length < WIDEST && this.rng() < PARALLEL_CHANCE;
      if (!beside) {
        stage = [];
        steps.push({ kind: "call", calls: stage });
      }
      stage.push(call);
    }
    if (node.children.length === 0 && this.rng() < STORE_CHANCE) {
      steps.push(store(`store-${node.service}`, 1 + 4 * this.rng()));
    }
    const operations = this.operations[node.service] ?? {};
    const name = `r${route}-${Object.keys(operations).length}`;
    operations[name] = around(this.cpuMs * (0.4 + 1.2 * this.rng()), ...steps);
    return name;
  }
}

/** The gateway, then entries, then the middle in as many levels as there are left but one, then the leaves. */
function levelsOf(count: number): number[][] {
  const rest = count - 1;
  const entries = Math.max(1, Math.round(ENTRY_SHARE * rest));
  const middle = Math.round(MIDDLE_SHARE * rest);
  const levels: number[][] = [[0], [], ...Array.from({ length: LEVELS - 3 }, (): number[] => []), []];
  for (let index = 1; index < count; index += 1) {
    const after = index - 1 - entries;
    const level =
      after < 0 ? 1 : after < middle ? 2 + Math.floor((after * (LEVELS - 3)) / middle) : LEVELS - 1;
    levels[level]?.push(index);
  }
  return levels.filter((level) => level.length > 0);
}

function nodesAt(node: Node, level: number): Node[] {
  if (node.level === level) return [node];
  return node.children.flatMap((child) => nodesAt(child, level));
}

const nameOf = (index: number): string => (index === 0 ? "gateway" : `s${index}`);
