import type { Fault } from "./fault.ts";
import { CLOCK_FAULTS } from "./families/clocks.ts";
import { CONNECTION_FAULTS } from "./families/connections.ts";
import { DISK_FAULTS } from "./families/disk.ts";
import { HOSTILE_FAULTS } from "./families/hostile.ts";
import { PEER_FAULTS } from "./families/peers.ts";
import { PLAN_FAULTS } from "./families/plans.ts";
import { PROCESS_FAULTS } from "./families/processes.ts";
import { SOURCE_FAULTS } from "./families/sources.ts";

/** Every fault that is played; docs/faults.md has a row for each. */
export const FAULTS: readonly Fault[] = [
  ...PROCESS_FAULTS,
  ...PEER_FAULTS,
  ...CLOCK_FAULTS,
  ...SOURCE_FAULTS,
  ...PLAN_FAULTS,
  ...HOSTILE_FAULTS,
  ...CONNECTION_FAULTS,
  ...DISK_FAULTS,
];
