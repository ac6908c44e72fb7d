/**
 * `node bench/terminal/record.ts` makes docs/recordings/compare.cast and docs/images/terminal-*.svg again: runs the comparison of
 * `npm start -- --compare` on a terminal (util-linux `script`), and keeps what it showed every two seconds. Six minutes.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EmulatedTerminal } from "./emulated.ts";
import { castOf, drawingOf } from "./frames.ts";
import type { Frame } from "./frames.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const [COLUMNS, ROWS] = [118, 40];
const EVERY_SECONDS = 2;
const RUN_SECONDS = 150;
/** Into the second run, when its surge has been answered: that frame is drawn. */
const SURGE_SECONDS = 0.5 * RUN_SECONDS;
const ELAPSED = /^Tradewind .+ (\d+) s of /m;

const terminal = new EmulatedTerminal(COLUMNS, ROWS);
const frames: Frame[] = [];
const beganMs = performance.now();
const command = `stty cols ${COLUMNS} rows ${ROWS}; exec ${process.execPath} bin/tradewind.mjs local --compare --for ${RUN_SECONDS}s --seed 3 --ports free`;
const child = spawn("script", ["-qefc", command, "/dev/null"], {
  cwd: ROOT,
  stdio: ["ignore", "pipe", "inherit"],
  env: { ...process.env, TERM: "xterm-256color", CI: "", FORCE_COLOR: "1" },
});
let pending = "";
child.stdout.setEncoding("utf8").on("data", (text: string) => {
  pending += text;
  // A sequence may be cut anywhere.
  const whole =
    pending.lastIndexOf("\u001B") > pending.length - 12 ? pending.lastIndexOf("\u001B") : pending.length;
  terminal.write(pending.slice(0, whole));
  pending = pending.slice(whole);
});
const keep = (): void =>
  void frames.push({ seconds: (performance.now() - beganMs) / 1e3, lines: terminal.lines() });
const timer = setInterval(keep, 1e3 * EVERY_SECONDS);
const [code] = (await once(child, "exit")) as [number];
clearInterval(timer);
terminal.write(pending);
keep();
if (code !== 0) throw new Error(`the comparison ended with ${code}`);

const textOf = ({ lines }: Frame): string =>
  lines.map((line) => line.map(({ character }) => character).join("")).join("\n");
const distance = (frame: Frame): number =>
  Math.abs(Number(ELAPSED.exec(textOf(frame))?.[1] ?? Infinity) - SURGE_SECONDS);
const [surge] = frames.slice(frames.length / 2).toSorted((a, b) => distance(a) - distance(b));
const last = frames.at(-1);
await mkdir(join(ROOT, "docs", "recordings"), { recursive: true });
const facts = { columns: COLUMNS, rows: ROWS, title: "npm start -- --compare" };
await writeFile(join(ROOT, "docs", "recordings", "compare.cast"), castOf(frames, facts));
const images = join(ROOT, "docs", "images");
if (surge)
  await writeFile(
    join(images, "terminal-surge.svg"),
    drawingOf(surge, COLUMNS, "The live picture of npm start during a surge"),
  );
if (last)
  await writeFile(
    join(images, "terminal-compare.svg"),
    drawingOf(last, COLUMNS, "The verdict of npm start -- --compare"),
  );
