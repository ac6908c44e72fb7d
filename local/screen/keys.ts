import type { ReadStream } from "node:tty";

const CTRL_C = "\u0003";

/** Keys of the live picture, one character each. */
export interface Keys {
  /** True where keys are read at all: standard input and the picture are both a terminal. */
  readonly isInteractive: boolean;
  stop(): void;
}

/**
 * Reads single keys. `q` and Ctrl-C end the run like a signal does: a terminal in raw mode sends none.
 * @param isLive whether the picture is live
 */
export function readKeys(
  stdin: ReadStream,
  { isLive, onKey, onQuit }: { isLive: boolean; onKey: (key: string) => void; onQuit: () => void },
): Keys {
  if (!isLive || !stdin.isTTY) return { isInteractive: false, stop: () => undefined };
  const onData = (data: Buffer): void => {
    for (const key of data.toString("utf8")) {
      if (key === "q" || key === CTRL_C) onQuit();
      else onKey(key);
    }
  };
  stdin.setRawMode(true);
  stdin.on("data", onData);
  stdin.resume();
  return {
    isInteractive: true,
    stop() {
      stdin.off("data", onData);
      stdin.setRawMode(false);
      stdin.pause();
    },
  };
}
