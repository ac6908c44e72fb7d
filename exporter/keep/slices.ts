import { setTimeout as delay } from "node:timers/promises";

/** A call that comes during a slice waits no longer than this for its turn. */
const SLICE_MS = 0.25;
/** Between two slices calls have the event loop for themselves: of a busy second this takes a fifth. */
const PAUSE_MS = 1;

/**
 * Goes through a long list in slices of a quarter of a millisecond with a pause between them, so that answers on the gRPC
 * port do not wait for a plan of thousands of services, and pieces of it are not always in their way.
 */
export async function forEachInSlices<Item>(
  items: Iterable<Item>,
  visit: (item: Item) => void,
  monotonicMs: () => number,
): Promise<void> {
  let sliceEndMs = monotonicMs() + SLICE_MS;
  for (const item of items) {
    if (monotonicMs() >= sliceEndMs) {
      await delay(PAUSE_MS);
      sliceEndMs = monotonicMs() + SLICE_MS;
    }
    visit(item);
  }
}
