/**
 * Stands in for stress-ng and iperf3: takes one resource for a number of seconds. Ends by itself, and at once when whoever
 * started it is gone.
 */
import { fdatasyncSync, openSync, unlinkSync, writeSync } from "node:fs";
import { createServer, connect } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setInterval } from "node:timers";
import { parseJsonWith } from "@tradewind/core/values/config.ts";
import { createMachine } from "../application/work.ts";
import { HogOrder } from "./hog-order.ts";

const PERIOD_MILLIS = 12;
const CHUNK_BYTES = 32 * 2 ** 20;
const PACKET_BYTES = 64 * 1024;
const WRITTEN_BYTES = 2 ** 20;
const FILE_BYTES = 8 * WRITTEN_BYTES;

process.on("disconnect", () => process.exit(0));
if (!process.connected) process.exit(0);
const order = parseJsonWith(HogOrder, process.argv[2] ?? "", "the order of the hog");
setTimeout(() => process.exit(0), order.seconds * 1e3);

/** Runs `work` again and again for a share of each period. */
function keepBusy(duty: number, work: () => void): void {
  const turn = (): void => {
    const startMs = performance.now();
    while (performance.now() - startMs < duty * PERIOD_MILLIS) work();
    const usedMillis = performance.now() - startMs;
    setTimeout(turn, Math.max(0, usedMillis / duty - usedMillis));
  };
  turn();
}

function holdMemory(bytes: number, leaveBytes: number): void {
  const held: Buffer[] = [];
  const timer = setInterval(() => {
    const heldBytes = held.length * CHUNK_BYTES;
    if (heldBytes >= bytes || process.availableMemory() - CHUNK_BYTES < leaveBytes)
      return clearInterval(timer);
    held.push(Buffer.alloc(Math.min(CHUNK_BYTES, bytes - heldBytes), 1));
  }, 5);
}

function sendOverLoopback(bytesPerSecond: number): void {
  const packet = Buffer.alloc(PACKET_BYTES, 1);
  const server = createServer((socket) => socket.on("error", () => process.exit(1)).resume());
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, "127.0.0.1").on("error", () => process.exit(1));
    const startMs = performance.now();
    let sentBytes = 0;
    setInterval(() => {
      const dueBytes = ((performance.now() - startMs) / 1e3) * bytesPerSecond;
      // What a slow receiver has not taken is not owed later: memory stays bounded.
      if (socket.writableNeedDrain) sentBytes = dueBytes;
      while (sentBytes < dueBytes && !socket.writableNeedDrain) {
        socket.write(packet);
        sentBytes += PACKET_BYTES;
      }
    }, PERIOD_MILLIS);
  });
}

/** A file that has no name any more: it goes with this process. Temporary files are often in memory, so a folder on disk goes first. */
function openScratch(): number {
  const open = (directory: string): number => {
    const path = join(directory, `tradewind-hog-${process.pid}`);
    const file = openSync(path, "wx", 0o600);
    unlinkSync(path);
    return file;
  };
  try {
    return open("/var/tmp");
  } catch {
    return open(tmpdir());
  }
}

function writeToDisk(duty: number): void {
  const file = openScratch();
  const block = Buffer.alloc(WRITTEN_BYTES, 1);
  let at = 0;
  keepBusy(duty, () => {
    writeSync(file, block, 0, WRITTEN_BYTES, at);
    fdatasyncSync(file);
    at = (at + WRITTEN_BYTES) % FILE_BYTES;
  });
}

switch (order.kind) {
  case "cpu": {
    const machine = createMachine();
    keepBusy(order.duty, () => machine.spin(100_000));
    break;
  }
  case "bandwidth": {
    const [from, to] = [Buffer.alloc(CHUNK_BYTES, 1), Buffer.alloc(CHUNK_BYTES, 2)];
    keepBusy(order.duty, () => from.copy(to));
    break;
  }
  case "mixed": {
    const machine = createMachine();
    keepBusy(order.duty, () => {
      machine.spin(200_000);
      machine.touch(100_000);
    });
    break;
  }
  case "memory":
    holdMemory(order.bytes, order.leaveBytes);
    break;
  case "network":
    sendOverLoopback(order.bytesPerSecond);
    break;
  case "disk":
    writeToDisk(order.duty);
    break;
}
