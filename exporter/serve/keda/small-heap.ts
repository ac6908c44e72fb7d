import { setFlagsFromString } from "node:v8";

/** A young generation has two of these. */
const THREAD_SEMI_SPACE_MEGABYTES = 4;

/**
 * Keeps V8's young generation at its first size, and makes it collect before the heap is a third larger than what is
 * in use. Plans of thousands of services are made of short-lived pieces, for which V8 by default grows to several
 * times that and never gives it back. Measured with 5,000 services on Node 24: 240 MB resident at the peak instead of
 * 450, many short pauses instead of few long ones. For the whole process, so only its own command calls this, before
 * it loads the rest.
 *
 * The thread that answers KEDA, which is made later, begins with a larger young generation and keeps that: at 1,000 calls a
 * second it is collected 7 times a second instead of 30.
 */
export function keepHeapSmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--heap-growing-percent=30");
  setFlagsFromString(`--min-semi-space-size=${THREAD_SEMI_SPACE_MEGABYTES}`);
}
