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
