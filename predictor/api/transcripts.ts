import { setImmediate as nextTurn } from "node:timers/promises";

/** A `Transcripts` as JSON, a line in each piece and turns for others in between: together they may be longer than a string can be. */
export async function* transcriptsText(lines: Iterable<object>): AsyncGenerator<string> {
  yield '{"transcripts":[';
  let comma = "";
  for (const line of lines) {
    yield comma + JSON.stringify(line);
    comma = ",";
    await nextTurn();
  }
  yield "]}";
}
