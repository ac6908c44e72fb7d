import { setImmediate as nextTurn } from "node:timers/promises";

/** Longest work without a turn of the event loop, ms: beats of the watchdog, probes and scrapes get in between. */
const SLICE_MS = 20;

/** Goes through a long list and lets others have a turn every 20 ms. */
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
