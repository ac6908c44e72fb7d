/** One line that is drawn over itself on a terminal, and now and then a line elsewhere. */
export interface Progress {
  show(text: string): void;
  /** A line that stays. */
  say(text: string): void;
}

const EVERY_MILLIS = 5_000;

/** Clears from the cursor to the end of the line (ECMA-48 EL). */
const CLEAR_LINE = "\r\u001b[K";

export function createProgress(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Progress {
  const isLive = stream.isTTY && env["TERM"] !== "dumb" && (env["CI"] ?? "") === "";
  let lastMs = Number.NEGATIVE_INFINITY;
  stream.on("error", () => undefined);
  return {
    show(text) {
      if (isLive) {
        stream.write(`${CLEAR_LINE}${text}`);
      } else if (performance.now() - lastMs >= EVERY_MILLIS) {
        lastMs = performance.now();
        stream.write(`${text}\n`);
      }
    },
    say(text) {
      stream.write(`${isLive ? CLEAR_LINE : ""}${text}\n`);
    },
  };
}
