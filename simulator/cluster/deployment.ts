import type { ContainerSize, Pod } from "./pod.ts";

/** Share of the replicas that a rolling update may add and may take away at a time: the default of Kubernetes. */
const SURGE = 0.25;

export interface DeploymentParts {
  /** Makes a pod of the present template. */
  readonly create: () => Pod;
  /** Takes a pod down. */
  readonly remove: (pod: Pod) => void;
}

/** A Deployment: as many pods as wanted, of the present template, which it reaches by a rolling update. */
export class Deployment {
  replicas: number;
  size: ContainerSize;
  /** CPU demand of the version that new pods run. */
  versionFactor = 1;
  /** Counts changes of the template that need new pods. */
  generation = 0;
  /** Pods that are not gone, in order of their creation; draining ones too. */
  readonly pods: Pod[] = [];
  private readonly parts: DeploymentParts;

  constructor(replicas: number, size: ContainerSize, parts: DeploymentParts) {
    this.replicas = replicas;
    this.size = size;
    this.parts = parts;
  }

  /** Pods that are meant to stay. */
  get active(): Pod[] {
    return this.pods.filter(({ phase }) => phase !== "draining");
  }

  get ready(): number {
    return this.pods.filter(({ phase }) => phase === "ready").length;
  }

  /** Takes one step towards what is wanted; called after every change of pods or of the template. */
  reconcile(): void {
    const fresh = this.active.filter(({ generation }) => generation === this.generation);
    const old = this.active.filter(({ generation }) => generation !== this.generation);
    this.shrink(fresh, this.replicas);
    if (old.length === 0) this.create(this.replicas - fresh.length);
    else this.roll(Math.min(fresh.length, this.replicas), old);
  }

  private roll(fresh: number, old: readonly Pod[]): void {
    const { replicas } = this;
    const most = replicas + Math.ceil(SURGE * replicas);
    const least = replicas - Math.floor(SURGE * replicas);
    this.create(Math.min(replicas - fresh, most - fresh - old.length));
    const unready = old.filter(({ phase }) => phase !== "ready");
    for (const pod of unready) this.parts.remove(pod);
    const spare = Math.max(0, this.ready - least);
    const readyOld = old.filter(({ phase }) => phase === "ready");
    this.shrink(readyOld, Math.max(0, readyOld.length - spare));
    // What went makes room for new pods at once.
    const left = this.active.filter(({ generation }) => generation !== this.generation).length;
    if (left < old.length) this.reconcile();
  }

  private create(count: number): void {
    for (let made = 0; made < count; made += 1) this.pods.push(this.parts.create());
  }

  /** Pods that are not ready go first, then those that became ready last: as the ReplicaSet controller chooses. */
  private shrink(pods: readonly Pod[], keep: number): void {
    if (pods.length <= keep) return;
    const byValue = [...pods].sort(
      (a, b) => rank(a) - rank(b) || (a.readyMs ?? 0) - (b.readyMs ?? 0) || a.ordinal - b.ordinal,
    );
    for (const pod of byValue.slice(keep).reverse()) this.parts.remove(pod);
  }
}

/** Smaller is worth more. */
function rank({ phase }: Pod): number {
  if (phase === "ready") return 0;
  return phase === "starting" ? 1 : 2;
}
