import { setImmediate as nextTurn } from "node:timers/promises";

const SLICE_MS = 0.5;

/**
 * Goes through a long list in slices of half a millisecond with a turn of the event loop between them, so that answers
 * on the gRPC port do not wait for a plan of thousands of services.
 */
export async function forEachInSlices<Item>(
  items: Iterable<Item>,
  visit: (item: Item) => void,
  monotonicMs: () => number,
): Promise<void> {
  let sliceEndMs = monotonicMs() + SLICE_MS;
  for (const item of items) {
    if (monotonicMs() >= sliceEndMs) {
      await nextTurn();
      sliceEndMs = monotonicMs() + SLICE_MS;
    }
    visit(item);
  }
}
