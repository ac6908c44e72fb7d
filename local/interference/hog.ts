/**
 * Stands in for stress-ng: about 85 % of a core for the given number of seconds, two thirds arithmetic, one third memory
 * traffic. Ends by itself, and at once when whoever started it is gone.
 */
import { createMachine } from "../application/work.ts";

const SLICE_MILLIS = 10;
const PAUSE_MILLIS = 2;

const seconds = Math.min(3_600, Math.max(0, Number(process.argv[2]) || 0));
const endMs = performance.now() + seconds * 1e3;
const machine = createMachine();

function turn(): void {
  const sliceEndMs = performance.now() + SLICE_MILLIS;
  while (performance.now() < sliceEndMs) {
    machine.spin(200_000);
    machine.touch(100_000);
  }
  if (performance.now() < endMs) setTimeout(turn, PAUSE_MILLIS);
  else process.exit(0);
}

process.on("disconnect", () => process.exit(0));
if (!process.connected) process.exit(0);
turn();
