import { z } from "zod";
import { packed, unpacked } from "../packed.ts";
import type { ProfileState } from "../queue/profile-state.ts";
import type { NetworkState } from "./latency-network.ts";
import { CHANNELS, WINDOW_INPUTS } from "./shape.ts";
import { NO_ANCHORS } from "./window-inputs.ts";
import { INTERFERENCE_COMPONENTS } from "@tradewind/core/contract/interference.ts";

/** What is known of one service after its windows, without its queueing profile: 1.5 kB as JSON. */
export const NetworkMemory = z.strictObject({
  /** Whose weights made it. */
  of: z.string().max(64),
  /** Windows taken in. */
  windows: z.int().positive(),
  /** See {@link networkMemory}. */
  state: z.string().max(8_000),
});
export type NetworkMemory = z.infer<typeof NetworkMemory>;

const SUMS = 4 * CHANNELS;
const PLACE = NO_ANCHORS.length;
const INTERFERENCE = PLACE + 3;
const SUMS_FROM = INTERFERENCE + INTERFERENCE_COMPONENTS.length;
const COUNT = SUMS_FROM + SUMS + WINDOW_INPUTS;

/** A state as 32-bit floats: anchors, load and size of the last window, its surroundings, sums, inputs. NaN stays NaN. */
export function networkMemory(of: string, windows: number, state: NetworkState): NetworkMemory {
  const { anchors, inputs, last, sums, surroundings } = state;
  const all = new Float64Array(COUNT);
  all.set(anchors);
  all.set([last?.load ?? 0, last?.cores ?? Number.NaN, surroundings.memoryRatio], PLACE);
  for (let i = 0; i < INTERFERENCE_COMPONENTS.length; i += 1)
    all[INTERFERENCE + i] = surroundings.interference[i] ?? Number.NaN;
  all.set(sums, SUMS_FROM);
  all.set(inputs, SUMS_FROM + SUMS);
  return { of, windows, state: packed(all) };
}

interface ReadState {
  readonly name: string;
  readonly profile: ProfileState;
  readonly state: NetworkState | undefined;
}

/** As it was read last: a window asks for the state of a service several times. */
const lastRead = new WeakMap<NetworkMemory, ReadState>();

/** The state again, the same object for the same profile; undefined where it is another network's, or not whole. */
export function networkState(
  memory: NetworkMemory,
  name: string,
  profile: ProfileState,
): NetworkState | undefined {
  const last = lastRead.get(memory);
  if (last?.name === name && last.profile === profile) return last.state;
  const state = readState(memory, name, profile);
  lastRead.set(memory, { name, profile, state });
  return state;
}

function readState(
  { of, state }: NetworkMemory,
  name: string,
  profile: ProfileState,
): NetworkState | undefined {
  if (of !== name) return undefined;
  const all = unpacked(state);
  if (all.length !== COUNT) return undefined;
  const [load = 0, cores = Number.NaN, memoryRatio = Number.NaN] = all.subarray(PLACE);
  const numbers = [...all.subarray(0, PLACE), load, ...all.subarray(SUMS_FROM)];
  if (!numbers.every((each) => Number.isFinite(each))) return undefined;
  return {
    profile,
    anchors: [...all.subarray(0, PLACE)],
    last: { load, cores },
    surroundings: { memoryRatio, interference: [...all.subarray(INTERFERENCE, SUMS_FROM)] },
    sums: [...all.subarray(SUMS_FROM, SUMS_FROM + SUMS)],
    inputs: [...all.subarray(SUMS_FROM + SUMS)],
  };
}
