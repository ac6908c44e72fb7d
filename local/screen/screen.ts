import { createLogUpdate } from "log-update";
import type { WriteStream } from "node:tty";
import type { Picture } from "./picture.ts";
import { renderPicture, renderPlaces, renderProgress } from "./render.ts";
import { choosePaint } from "@tradewind/core/terminal/style.ts";

/** Where the run shows itself. */
export interface Screen {
  /** The picture is drawn over itself, on a terminal. */
  readonly isLive: boolean;
  /** One line that stays. */
  say(text: string): void;
  /** The state of things now; drawn over the last one on a terminal, a line of progress now and then elsewhere. */
  show(picture: Picture): void;
  /** Leaves the last picture standing. */
  close(): void;
}

/** Time between two lines of progress where there is no terminal, s. */
const PROGRESS_EVERY_SECONDS = 5;

function createLiveScreen(stream: WriteStream, env: NodeJS.ProcessEnv): Screen {
  const paint = choosePaint(true, env);
  const update = createLogUpdate(stream);
  let drawn = "";
  return {
    isLive: true,
    say(text) {
      update.persist(text);
      if (drawn !== "") update(drawn);
    },
    show(picture) {
      drawn = renderPicture(picture, { columns: stream.columns, rows: stream.rows }, paint);
      update(drawn);
    },
    close() {
      drawn = "";
      update.done();
    },
  };
}

function createPlainScreen(stream: NodeJS.WritableStream): Screen {
  let lastAtS = Number.NEGATIVE_INFINITY;
  let hasShownPlaces = false;
  return {
    isLive: false,
    say: (text) => void stream.write(`${text}\n`),
    show(picture) {
      if (picture.elapsedS - lastAtS < PROGRESS_EVERY_SECONDS) return;
      if (!hasShownPlaces) stream.write(`${renderPlaces(picture)}\n`);
      hasShownPlaces = true;
      lastAtS = picture.elapsedS;
      stream.write(`${renderProgress(picture)}\n`);
    },
    close() {
      lastAtS = Number.NEGATIVE_INFINITY;
      hasShownPlaces = false;
    },
  };
}

/** A live picture on a terminal that can move its cursor, plain lines everywhere else. */
export function createScreen(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Screen {
  const isLive = stream.isTTY && env["TERM"] !== "dumb" && (env["CI"] ?? "") === "";
  return isLive ? createLiveScreen(stream, env) : createPlainScreen(stream);
}
