/**
 * Does work with a signal that ends it after `limitMs`, or with `other`; nothing of it is left once it is done. `AbortSignal.timeout` would keep
 * its timer to the end, and `AbortSignal.any`, where one of its signals is itself made by it of a timeout, 400 bytes for ever (Node.js 24).
 * @param work `deadline` is aborted only where the time is over
 */
export async function withinTime<Result>(
  limitMs: number,
  other: AbortSignal | undefined,
  work: (signal: AbortSignal, deadline: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const [deadline, ending] = [new AbortController(), new AbortController()];
  const end = (): void => ending.abort();
  const timer = setTimeout(() => {
    deadline.abort();
    end();
  }, limitMs).unref();
  other?.addEventListener("abort", end);
  if (other?.aborted === true) end();
  try {
    return await work(ending.signal, deadline.signal);
  } finally {
    clearTimeout(timer);
    other?.removeEventListener("abort", end);
  }
}
