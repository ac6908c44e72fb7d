import type { CollectorDefinition } from "./collector.ts";
import { cpu } from "./cpu.ts";
import { disk } from "./disk.ts";
import { memory } from "./memory.ts";
import { network } from "./network.ts";
import { numa } from "./numa.ts";
import { pressure } from "./pressure.ts";
import { resctrl } from "./resctrl.ts";
import { scheduler } from "./scheduler.ts";
import { softnet } from "./softnet.ts";
import { tcp } from "./tcp.ts";
import { thermal } from "./thermal.ts";
import { vmstat } from "./vmstat.ts";

/** Every node collector, in alphabetical order. */
export const COLLECTORS: readonly CollectorDefinition[] = [
  cpu,
  disk,
  memory,
  network,
  numa,
  pressure,
  resctrl,
  scheduler,
  softnet,
  tcp,
  thermal,
  vmstat,
];
