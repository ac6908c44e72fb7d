/** Conventional exit code of a command that a signal ended. */
export const INTERRUPTED = 130;

/** A launcher passes on what a terminal has sent to the whole group already: both are one wish. */
const SAME_WISH_MILLIS = 500;

/**
 * First signal: stop cleanly. Another one later: leave now; the next start cleans up.
 * @returns stops listening
 */
export function onInterrupt(stop: () => void): () => void {
  let firstMs: number | undefined;
  const handle = (): void => {
    if (firstMs === undefined) {
      firstMs = performance.now();
      stop();
    } else if (performance.now() - firstMs > SAME_WISH_MILLIS) {
      process.exit(INTERRUPTED);
    }
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, handle);
  return () => {
    for (const signal of signals) process.off(signal, handle);
  };
}
