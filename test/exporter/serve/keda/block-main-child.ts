/** Loaded into an exporter before it starts: on SIGUSR2 its main thread waits for what never comes. */
process.once("SIGUSR2", () => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});
