/** The Horizontal Pod Autoscaler's arithmetic for one external metric of type AverageValue. */
export interface HpaRules {
  readonly target: number;
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** Share of the current replicas inside which nothing happens. 0.1 by default, per direction in `behavior`. */
  readonly tolerance: number;
}

/** @returns the replicas that the HPA asks for when the metric reads `value` */
export function hpaReplicas(value: number, current: number, rules: HpaRules): number {
  const ratio = value / (rules.target * current);
  const isInside = Math.abs(1 - ratio) <= rules.tolerance + 1e-12;
  const wanted = isInside ? current : Math.ceil(value / rules.target - 1e-9);
  return Math.min(Math.max(wanted, rules.minReplicas), rules.maxReplicas);
}
