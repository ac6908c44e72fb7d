/** The arithmetic of TD3 (Fujimoto et al. 2018; DRPC, Alg. 3) that needs no gradients. */

const clip = (value: number, most: number): number => Math.max(-most, Math.min(most, value));

/** DRPC, Eq. 5, target policy smoothing: the target actor's action with clipped noise, within [-1, 1]. */
export const smoothedAction = (action: number, noise: number, noiseClip: number): number =>
  clip(action + clip(noise, noiseClip), 1);

/** DRPC, Eq. 6: the reward and, unless the episode ended there, the discounted lesser of both target critics. */
export const targetValue = (
  { isEnd, reward }: { readonly reward: number; readonly isEnd: boolean },
  [first, second]: readonly [number, number],
  discount: number,
): number => reward + (isEnd ? 0 : discount * Math.min(first, second));

/** DRPC, Alg. 3: targets follow slowly, θ' ← ρ θ' + (1 - ρ) θ. In place. */
export function follow(target: Float32Array, source: Float32Array, keep: number): void {
  for (let i = 0; i < target.length; i += 1) {
    target[i] = keep * (target[i] as number) + (1 - keep) * (source[i] as number);
  }
}

export interface AdamState {
  readonly first: Float32Array;
  readonly second: Float32Array;
  steps: number;
}

export const adamState = (length: number): AdamState => ({
  first: new Float32Array(length),
  second: new Float32Array(length),
  steps: 0,
});

/** One step of Adam (Kingma and Ba 2015) down the gradient. In place. */
export function adamStep(values: Float32Array, gradient: Float32Array, state: AdamState, rate: number): void {
  state.steps += 1;
  const { first, second, steps } = state;
  const [firstBias, secondBias] = [1 - 0.9 ** steps, 1 - 0.999 ** steps];
  for (let i = 0; i < values.length; i += 1) {
    const slope = gradient[i] as number;
    first[i] = 0.9 * (first[i] as number) + 0.1 * slope;
    second[i] = 0.999 * (second[i] as number) + 0.001 * slope * slope;
    const moved = (first[i] as number) / firstBias / (Math.sqrt((second[i] as number) / secondBias) + 1e-8);
    values[i] = (values[i] as number) - rate * moved;
  }
}
