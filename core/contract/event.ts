import { z } from "zod";
import { Interference } from "./interference.ts";
import { Count, EpochMs } from "./quantity.ts";

/** Names of components; another release may know further ones. */
const Moved = z.array(z.string().min(1).max(64)).min(1).max(16);

/** A container whose interference moved by more than the agent's tolerance since it was last told. */
export const ContainerMove = z.strictObject({
  id: z.string().min(1).max(128),
  podUid: z.string().max(64).optional(),
  podName: z.string().max(253).optional(),
  namespace: z.string().max(253).optional(),
  containerName: z.string().max(253).optional(),
  interference: Interference,
  moved: Moved,
});
export type ContainerMove = z.infer<typeof ContainerMove>;

export const EVENT_SCHEMA = "tradewind.dev/event/v1";

/**
 * One message of `GET /v1/events` (server-sent events, event name `interference`): what moved in one sampling cycle. A
 * reader that missed a sequence number, or sees another `agentStartedAtMs`, reads the snapshot anew.
 */
export const InterferenceEvent = z.strictObject({
  schema: z.literal(EVENT_SCHEMA),
  /** Rises by one with every message of this agent since it started. */
  sequence: Count,
  agentStartedAtMs: EpochMs,
  node: z.string().min(1).max(253),
  atMs: EpochMs,
  /** Absent when the node as a whole did not move. */
  nodeMove: z.strictObject({ interference: Interference, moved: Moved }).optional(),
  containers: z.array(ContainerMove).max(20_000),
});
export type InterferenceEvent = z.infer<typeof InterferenceEvent>;
