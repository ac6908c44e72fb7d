/**
 * Keeps a small, mostly sleeping process small. Called before the rest of the agent is loaded.
 *
 * Figures in docs/decisions (resident memory of the agent): the optimising compilers alone touch 9 MB of the binary's
 * pages, which a process that works a few milliseconds a second never earns back; a young generation that may grow costs
 * 4 MB; and V8 lets garbage of the old generation lie until the heap has doubled, another 2 MB.
 *
 * The image gives `--expose-gc` and `--single-threaded-gc` on the command line, which saves 2 MB more: without the first a
 * context has to be made only to reach the collector, and the second counts only there. The other flags would cost memory
 * there, because Node.js does not use its own compiled code under flags other than those it was compiled with.
 * @returns how to collect garbage now
 */
export function frugal(): () => void {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  setFlagsFromString("--no-opt");
  setFlagsFromString("--no-maglev");
  setFlagsFromString("--semi-space-growth-factor=1");
  // Only compressed answers use libuv's threads, each with an allocator's arena of its own.
  process.env["UV_THREADPOOL_SIZE"] ??= "1";
  const { gc } = globalThis;
  if (gc !== undefined) return () => gc();
  setFlagsFromString("--expose-gc");
  // The function appears only in contexts made after the flag was set.
  return process.getBuiltinModule("node:vm").runInNewContext("gc") as () => void;
}
