import { Table } from "../expose/table.ts";
import { parsePressure } from "../parse/pressure.ts";
import { Rate } from "../read/rate.ts";
import { AbsentSource, readFailure } from "../read/file-error.ts";
import type { HeldFile } from "../read/reader.ts";
import { GuardChannel } from "../sampling/guard.ts";
import { CHANNEL } from "../sampling/signal.ts";
import { EVERY_SECOND } from "./collector.ts";
import type { CollectorDefinition } from "./collector.ts";

const RESOURCES = ["cpu", "io", "irq", "memory"] as const;
type Resource = (typeof RESOURCES)[number];

const SOME = {
  cpu: "pressure.cpu.someRatio",
  io: "pressure.io.someRatio",
  irq: undefined,
  memory: "pressure.memory.someRatio",
} as const;
const FULL = {
  cpu: undefined,
  io: "pressure.io.fullRatio",
  irq: "pressure.irq.fullRatio",
  memory: "pressure.memory.fullRatio",
} as const;

const WAKES = { cpu: CHANNEL.cpu, io: CHANNEL.io, irq: CHANNEL.cpu, memory: CHANNEL.memory } as const;

/** Smallest change of the share of time waited for which sleeping signals are woken. */
const GUARD_FLOOR_RATIO = 0.05;

/** The text of a source that only some kernels have; undefined without it. */
function textIfThere(file: HeldFile): string | undefined {
  try {
    return file.text();
  } catch (error) {
    if (readFailure(error) === "absent") return undefined;
    throw error;
  }
}

/**
 * Time tasks waited for CPU, disk and memory (Linux >= 4.20 with CONFIG_PSI) and, from 6.1, time lost to interrupts.
 * Cumulative totals lose nothing when they are read less often; the kernel's own averages are not used.
 */
export const pressure: CollectorDefinition = {
  name: "pressure",
  schedule: { kind: "counter", tolerance: 0.05, ...EVERY_SECOND },
  open: ({ reader, procfs }) => {
    const files = new Map<Resource, HeldFile>(
      RESOURCES.map((resource) => [resource, reader.file(`${procfs}/pressure`, resource)]),
    );
    const rates = new Map(
      RESOURCES.map((resource) => [
        resource,
        {
          some: new Rate(),
          full: new Rate(),
          guard: new GuardChannel({ kind: "counter", floor: GUARD_FLOOR_RATIO }),
        },
      ]),
    );
    const table = new Table([
      {
        name: "tradewind_node_pressure_waiting_seconds_total",
        help: "Time in which at least one task waited for the resource (PSI some).",
        kind: "counter",
      },
      {
        name: "tradewind_node_pressure_stalled_seconds_total",
        help: "Time in which every non-idle task waited for the resource at once (PSI full).",
        kind: "counter",
      },
    ]);
    return {
      tables: [table],
      sample(time, { signals, wake }) {
        let found = 0;
        let judged = 0;
        for (const [resource, file] of files) {
          const text = textIfThere(file);
          const rate = rates.get(resource);
          if (text === undefined || rate === undefined) continue;
          found += 1;
          const { someSeconds, fullSeconds } = parsePressure(text);
          const isIrq = resource === "irq";
          table
            .row(resource, { resource })
            .values.set([isIrq ? Number.NaN : someSeconds, fullSeconds ?? Number.NaN]);
          const some = SOME[resource];
          const full = FULL[resource];
          if (some !== undefined) signals.set(some, clamped(rate.some.next(someSeconds, time.seconds)), time);
          if (rate.guard.observe(someSeconds, time.seconds * 1e3)) wake(WAKES[resource]);
          judged += someSeconds;
          if (full !== undefined) signals.set(full, clamped(rate.full.next(fullSeconds, time.seconds)), time);
        }
        if (found === 0) throw new AbsentSource("pressure stall information (CONFIG_PSI, psi=1)");
        return judged;
      },
      close: () => {
        for (const file of files.values()) file.close();
      },
    };
  },
};

/** The kernel's and our clocks differ by microseconds: a share of time may not exceed 1. */
function clamped(share: number | undefined): number | undefined {
  return share === undefined ? undefined : Math.min(1, share);
}
