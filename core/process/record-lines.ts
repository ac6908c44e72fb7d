import { describeError, TradewindError } from "../values/errors.ts";

const CHUNK_CHARACTERS = 256 * 1024;
const END = "]}";

/**
 * A JSON document whose last field is a list with one record a line, in pieces, so that thousands of records never hold up the
 * event loop.
 *
 *     {"schema":"…","savedAtMs":1,"decisions":[
 *     {"service":"cart"},
 *     {"service":"geo"}
 *     ]}
 * @param header the other fields
 */
export function* recordLines(
  header: Readonly<Record<string, unknown>>,
  list: string,
  recordsJson: Iterable<string>,
): Generator<string> {
  const fields = Object.entries(header).filter(([, value]) => value !== undefined);
  let chunk = `{${fields.map((field) => field.map((part) => JSON.stringify(part)).join(":")).join(",")}`;
  chunk += `${fields.length > 0 ? "," : ""}${JSON.stringify(list)}:[`;
  let separator = "\n";
  for (const json of recordsJson) {
    chunk += separator + json;
    separator = ",\n";
    if (chunk.length < CHUNK_CHARACTERS) continue;
    yield chunk;
    chunk = "";
  }
  yield `${chunk}\n${END}\n`;
}

/** A document as {@link recordLines} writes it, without the records that are damaged. */
export interface ReadRecords {
  readonly document: unknown;
  /** What could not be read, in the order of the lines; empty where the text is JSON as a whole. */
  readonly damage: readonly string[];
}

/**
 * Reads what {@link recordLines} wrote, or any JSON. Of a text that was cut short or overwritten in places each whole line counts.
 * @throws TradewindError `invalid-json` where the first line is damaged as well
 */
export function readRecordLines(text: string, list: string, what: string): ReadRecords {
  try {
    return { document: JSON.parse(text), damage: [] };
  } catch (error) {
    const [first = "", ...lines] = text.split("\n");
    const header = headerIn(first, list);
    if (header === undefined)
      throw new TradewindError("invalid-json", `${what} is not JSON`, { cause: error });
    const records: unknown[] = [];
    const damage: string[] = [];
    if (!lines.includes(END)) damage.push(`${what} ends early`);
    for (const [index, line] of lines.entries()) {
      if (line === "" || line === END) continue;
      try {
        records.push(JSON.parse(line.endsWith(",") ? line.slice(0, -1) : line));
      } catch (problem) {
        damage.push(`line ${index + 2} of ${what}: ${describeError(problem)}`);
      }
    }
    return { document: { ...header, [list]: records }, damage };
  }
}

function headerIn(line: string, list: string): object | undefined {
  if (!line.endsWith(`${JSON.stringify(list)}:[`)) return undefined;
  try {
    return JSON.parse(line + END) as object;
  } catch {
    return undefined;
  }
}
