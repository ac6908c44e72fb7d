import { parentPort, workerData } from "node:worker_threads";
import { describeError } from "@tradewind/core/values/errors.ts";
import { JournalWriter } from "./journal-writer.ts";
import type { FromJournal, ToJournal } from "./messages.ts";

/** The thread that writes the journal: SQLite holds up who calls it for as long as the disk takes. */
const port = parentPort;
if (port === null) throw new Error("journal/journal-worker.ts runs only as a worker thread");
const directory = String(workerData);
let journal: JournalWriter | undefined;

port.on("message", (message: ToJournal) => {
  if (message === "end") {
    journal?.close();
    port.close();
    return;
  }
  const { changes, events, id, nowMs } = message;
  try {
    journal ??= new JournalWriter(directory);
    const head = journal.append(events, nowMs, changes);
    port.postMessage({ id, head, problem: undefined } satisfies FromJournal, []);
  } catch (error) {
    port.postMessage({ id, head: undefined, problem: describeError(error) } satisfies FromJournal, []);
  }
});
