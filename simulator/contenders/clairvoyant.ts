import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import { withWork } from "../applications/course-shop.ts";
import type { ServiceModel } from "../model/application-model.ts";
import type { PlantModel } from "../model/plant-model.ts";
import { SimulatedWorld } from "../simulated-world.ts";
import { NO_FAULTS } from "../world.ts";
import type { Plant } from "../world.ts";
import { bounded, UNTUNED } from "./contender.ts";
import type { Brain, Contender, Setting } from "./contender.ts";

/** Loads are rounded up to so many levels between none and the highest. */
const LEVELS = 10;
/** A trial runs for so long, of which the first part is left out. */
const TRIAL = { seconds: 100, warmUpSeconds: 25, seed: 77 };
/** Share of requests over the objective that a size may have in its trial: less than the 5 % allowed, since levels and seeds differ. */
const MOST_OVER = 0.035;
/** More pods than this over the fewest possible are not tried: the objective is then out of reach. */
const MOST_EXTRA = 12;

type Size = readonly number[];

/** Finds the fewest pods for a load by trying sizes on the plant itself, at that load for a while and without incidents. */
class Search {
  private readonly plant: Plant;
  private readonly truth: PlantModel;
  private readonly found = new Map<string, Size>();
  /** As they are deployed at the time that is searched for. */
  private services: readonly ServiceModel[];

  constructor(plant: Plant, truth: PlantModel) {
    this.plant = plant;
    this.truth = truth;
    this.services = truth.application.services;
  }

  /** Pods of each service, in the order of the application, for a load and with the versions deployed by then. */
  at(requestsPerSecond: number, seconds: number): Size {
    const versions = (this.truth.incidents ?? []).flatMap((incident) =>
      incident.kind === "deploy" && incident.atSeconds <= seconds ? [incident] : [],
    );
    const key = `${requestsPerSecond} ${versions.length}`;
    const known = this.found.get(key);
    if (known !== undefined) return known;
    const factorOf = (name: string): number =>
      versions.findLast(({ service }) => service === name)?.demandFactor ?? 1;
    this.services = this.truth.application.services.map((each) => withWork(each, factorOf(each.name)));
    const size = this.search(requestsPerSecond);
    this.found.set(key, size);
    return size;
  }

  private search(load: number): Size {
    const specOf = serviceSpecs(this.plant.application);
    const { services } = this;
    const generous = services.map(({ name, replicas }) => bounded(8 * replicas, specOf(name)));
    const { usedCores } = this.trial(generous, load);
    // No container can use more than its limit, nor than one core for each thread.
    const capacities = services.map(({ container, threads = Infinity }) =>
      Math.min(container.cpuLimitCores ?? container.cpuRequestCores, threads),
    );
    const capacity = (at: number): number => capacities[at] ?? 1;
    let size: Size = services.map(({ name }, at) =>
      bounded((usedCores[at] ?? 0) / (0.97 * capacity(at)), specOf(name)),
    );
    let best = { size, over: Infinity };
    for (let extra = 0; extra <= MOST_EXTRA; extra += 1) {
      const { over } = this.trial(size, load);
      if (over < best.over) best = { size, over };
      if (over <= MOST_OVER) return this.trimmed(size, load);
      const use = size.map((pods, at) => (usedCores[at] ?? 0) / (Math.max(1, pods) * capacity(at)));
      const fullest = use.indexOf(Math.max(...use));
      size = size.map((pods, at) => (at === fullest ? pods + 1 : pods));
    }
    return best.size;
  }

  /** Takes away pods that turn out not to be needed, one service after the other. */
  private trimmed(size: Size, load: number): Size {
    const specOf = serviceSpecs(this.plant.application);
    let now = size;
    for (const [at, { name }] of this.services.entries()) {
      const fewer = now.map((pods, place) => (place === at ? pods - 1 : pods));
      if ((fewer[at] ?? 0) < Math.max(1, specOf(name).minReplicas)) continue;
      if (this.trial(fewer, load).over <= MOST_OVER) now = fewer;
    }
    return now;
  }

  private trial(size: Size, load: number): { readonly over: number; readonly usedCores: readonly number[] } {
    const { application, cluster, telemetry, ...rest } = this.truth;
    const services = this.services.map((service, at) => ({
      ...service,
      replicas: Math.max(1, size[at] ?? 1),
    }));
    const world = new SimulatedWorld({
      model: {
        ...rest,
        application: { ...application, services },
        telemetry: { ...telemetry, sampledRatio: 0 },
        // Room for every trial; a size that does not fit the plant's own nodes stays pending there.
        cluster: { ...cluster, nodes: 100 },
        incidents: [],
        load: () => load,
        seconds: TRIAL.seconds,
      },
      application: this.plant.application,
      faults: NO_FAULTS,
      windowSeconds: this.plant.windowSeconds,
      seed: TRIAL.seed,
    });
    const { startMs } = this.truth;
    world.advanceTo(startMs + TRIAL.warmUpSeconds * 1e3);
    const from = world.account();
    world.advanceTo(startMs + TRIAL.seconds * 1e3);
    const to = world.account();
    const sum = ({ routes }: typeof to, of: "over" | "requests"): number =>
      routes.reduce((total, route) => total + route[of], 0);
    const seconds = TRIAL.seconds - TRIAL.warmUpSeconds;
    return {
      over: (sum(to, "over") - sum(from, "over")) / Math.max(1, sum(to, "requests") - sum(from, "requests")),
      usedCores: to.services.map(
        ({ usedCoreSeconds }, at) => (usedCoreSeconds - (from.services[at]?.usedCoreSeconds ?? 0)) / seconds,
      ),
    };
  }
}

const searches = new WeakMap<PlantModel, Search>();

function start({ plant, truth, world }: Setting): Brain {
  const search = searches.get(truth) ?? new Search(plant, truth);
  searches.set(truth, search);
  const loads = Array.from({ length: truth.seconds }, (_, second) => truth.load(second));
  const step = Math.max(...loads) / LEVELS;
  const aheadSeconds = Math.ceil(1.15 * plant.podStartSeconds) + plant.windowSeconds;
  const act = (nowMs: number): void => {
    const at = Math.floor((nowMs - plant.startMs) / 1e3);
    const highest = Math.max(0, ...loads.slice(Math.max(0, at - 5), at + aheadSeconds));
    const level = Math.ceil(highest / step - 1e-9) * step;
    if (level === 0 && plant.application.services.every(({ minReplicas }) => minReplicas === 0)) {
      for (const service of world.services) world.setReplicas(service, 0);
      return;
    }
    const size = search.at(Math.max(level, step), at + aheadSeconds);
    for (const [index, service] of world.services.entries()) {
      const replicas = size[index] ?? 1;
      if (world.replicas(service) !== replicas) world.setReplicas(service, replicas);
    }
  };
  act(plant.startMs);
  return { scaledObject: () => undefined, onWindow: ({ nowMs }) => act(nowMs) };
}

/** What one who knows the load to come and the plant would do: a bound to compare with, not a policy. */
export const CLAIRVOYANT: Contender = {
  name: "clairvoyant",
  about:
    "Knows the load to come and tries sizes on the plant itself: for each of ten levels of load the fewest pods that met the objective " +
    "in a trial, asked for early enough to start; replicas only, and of incidents it knows deploys alone, so no strict bound.",
  ...UNTUNED,
  start,
};
