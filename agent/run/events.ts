import type { ServerResponse } from "node:http";
import type { InterferenceEvent } from "@tradewind/core/contract/event.ts";

const MOST_SUBSCRIBERS = 16;
/** A subscriber that lets more than this wait is cut off; it comes back and reads the snapshot anew. */
const MOST_WAITING_BYTES = 1024 * 1024;
const HEARTBEAT_MS = 15_000;

/** The subscribers of `GET /v1/events`: server-sent events, bounded in number and in what may wait for them. */
export class EventStream {
  readonly #subscribers = new Set<ServerResponse>();
  #heartbeat: NodeJS.Timeout | undefined;
  #events = 0;
  #dropped = 0;

  get subscribers(): number {
    return this.#subscribers.size;
  }

  get eventsTotal(): number {
    return this.#events;
  }

  /** Subscribers cut off because they were too slow. */
  get droppedTotal(): number {
    return this.#dropped;
  }

  /** Takes over the response; false, and untouched, when there are too many subscribers. */
  subscribe(response: ServerResponse): boolean {
    if (this.#subscribers.size >= MOST_SUBSCRIBERS) return false;
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    response.write("retry: 1000\n\n");
    this.#subscribers.add(response);
    response.once("close", () => this.#leave(response));
    response.on("error", () => this.#leave(response));
    this.#heartbeat ??= setInterval(() => this.#send(": still here\n\n"), HEARTBEAT_MS).unref();
    return true;
  }

  publish(event: InterferenceEvent): void {
    this.#events += 1;
    this.#send(`event: interference\nid: ${event.sequence}\ndata: ${JSON.stringify(event)}\n\n`);
  }

  close(): void {
    clearInterval(this.#heartbeat);
    for (const response of this.#subscribers) response.end();
    this.#subscribers.clear();
  }

  #send(text: string): void {
    for (const response of this.#subscribers) {
      response.write(text);
      if (response.writableLength <= MOST_WAITING_BYTES) continue;
      this.#dropped += 1;
      this.#leave(response);
      response.destroy();
    }
  }

  #leave(response: ServerResponse): void {
    this.#subscribers.delete(response);
    if (this.#subscribers.size > 0) return;
    clearInterval(this.#heartbeat);
    this.#heartbeat = undefined;
  }
}
