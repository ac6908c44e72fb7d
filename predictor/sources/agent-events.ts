import { createParser } from "eventsource-parser";
import { readJsonWith } from "@tradewind/core/values/config.ts";
import { InterferenceEvent } from "@tradewind/core/contract/event.ts";
import type { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";

/** Longest silence of a stream; agents send a sign of life every 15 s. */
const SILENCE_SECONDS = 45;
/** Characters that may wait for the end of a message: one with 20,000 containers has about 10 MB. */
const MOST_WAITING = 16 * 1024 * 1024;

/**
 * Reads an agent's `GET /v1/events` until it ends.
 * @throws EndpointError when the agent cannot be reached or sends what is not an event; `cancelled` by the signal
 */
export async function readAgentEvents(
  client: EndpointClient,
  signal: AbortSignal,
  onEvent: (event: InterferenceEvent) => void,
): Promise<void> {
  const body = await client.stream("v1/events", "text/event-stream", SILENCE_SECONDS, signal);
  let problem: unknown;
  const parser = createParser({
    maxBufferSize: MOST_WAITING,
    onError: (error) => {
      if (error.type === "max-buffer-size-exceeded") problem ??= error;
    },
    onEvent: ({ event, data }) => {
      if (event !== "interference" || problem !== undefined) return;
      try {
        onEvent(readJsonWith(InterferenceEvent, data, "an event of the agent"));
      } catch (error) {
        problem = error;
      }
    },
  });
  const decoder = new TextDecoder();
  try {
    for await (const chunk of body) {
      parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
      if (problem !== undefined) throw client.notUnderstood(problem);
    }
  } finally {
    body.destroy();
  }
}
