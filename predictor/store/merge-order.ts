import type { Window } from "@tradewind/core/contract/window.ts";

/** Streams of windows, each by rising start, as one; of equal starts the stream named first comes first. */
export function* mergeByStart(streams: readonly Iterable<Window>[]): Generator<Window> {
  const heads = streams.map((stream) => {
    const iterator = stream[Symbol.iterator]();
    return { iterator, head: iterator.next() };
  });
  try {
    for (;;) {
      let first: (typeof heads)[number] | undefined;
      for (const each of heads) {
        if (each.head.done === true) continue;
        if (
          first === undefined ||
          first.head.done === true ||
          each.head.value.startMs < first.head.value.startMs
        ) {
          first = each;
        }
      }
      if (first === undefined || first.head.done === true) return;
      yield first.head.value;
      first.head = first.iterator.next();
    }
  } finally {
    for (const { iterator } of heads) iterator.return?.();
  }
}

/** Leaves out windows of a service that begin before its former one ended: each time comes once. */
export function* withoutOverlap(windows: Iterable<Window>): Generator<Window> {
  const until = new Map<string, number>();
  for (const window of windows) {
    const key = `${window.namespace}/${window.service}`;
    if (window.startMs < (until.get(key) ?? Number.NEGATIVE_INFINITY)) continue;
    until.set(key, window.endMs);
    yield window;
  }
}
