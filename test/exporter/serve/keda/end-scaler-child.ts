/** Loaded into an exporter before it starts: on SIGUSR2 its scaler's thread ends, as one does that ran out of memory. */
process.on("worker", (worker) => {
  process.once("SIGUSR2", () => void worker.terminate());
});
