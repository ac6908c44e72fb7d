/** Loaded into an exporter before it starts: on SIGUSR2 its main thread is busy for ever. */
process.once("SIGUSR2", () => {
  for (;;) continue;
});
