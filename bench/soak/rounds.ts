/** Something done now and again. */
export interface Round {
  readonly periodMs: number;
  readonly round: () => Promise<void> | void;
}

/** Does them, each in its own rhythm, until it is over. @throws what a round throws, as soon as it does */
export async function goRound(rounds: readonly Round[], signal: AbortSignal): Promise<void> {
  await Promise.all(
    rounds.map(async ({ periodMs, round }) => {
      let dueMs = performance.now();
      while (!signal.aborted) {
        // What could not be done in time is left out.
        dueMs = Math.max(dueMs + periodMs, performance.now());
        await pause(Math.max(0, dueMs - performance.now()), signal);
        if (!signal.aborted) await round();
      }
    }),
  );
}

/** Waits, or until it is over. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
