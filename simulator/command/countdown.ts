import type { Progress } from "@tradewind/local/screen/progress.ts";

/**
 * Shows how much of a training is done, and the seconds that the rest takes at the pace since now.
 * @param before done by an earlier run
 */
export function countdown(
  progress: Progress,
  before: number,
  total: number,
  what: string,
): (done: number, more?: string) => void {
  const beganMs = performance.now();
  return (done, more = "") => {
    const secondsEach = (performance.now() - beganMs) / 1e3 / Math.max(1, done - before);
    const left = `${Math.round(secondsEach * (total - done))} s left`;
    progress.show(`${done} of ${total} ${what}, ${left}${more === "" ? "" : `; ${more}`}`);
  };
}
