import { syncBuiltinESMExports } from "node:module";
import { pathToFileURL } from "node:url";

/** Loaded into an exporter before it starts: on SIGUSR2 the thread that answers KEDA is busy for ever. */
const threads = process.getBuiltinModule("node:worker_threads");

class HangingWorker extends threads.Worker {
  constructor(path: string, options: object) {
    const scriptThatHangs = new URL("hang-scaler-worker-child.ts", import.meta.url);
    super(scriptThatHangs, { ...options, env: { ...process.env, SCALER_WORKER: pathToFileURL(path).href } });
    process.once("SIGUSR2", () => this.postMessage("hang", []));
  }
}
Object.assign(threads, { Worker: HangingWorker });
syncBuiltinESMExports();
