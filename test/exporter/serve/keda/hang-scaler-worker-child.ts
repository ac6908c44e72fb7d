import { parentPort } from "node:worker_threads";

/** The scaler's thread as it is, but that it hangs when it is told to. */
parentPort?.on("message", (message: unknown) => {
  if (message !== "hang") return;
  for (;;) continue;
});
await import(process.env["SCALER_WORKER"] ?? "");
