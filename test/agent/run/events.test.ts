import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { InterferenceEvent } from "@tradewind/core/contract/event.ts";
import type { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import { waitUntil } from "../../wait-until.ts";
import { startAgent } from "@tradewind/agent/agent.ts";
import { optionsOn } from "../agent-options.ts";
import { situation, V2 } from "../tree/situation.ts";
import { Tree } from "../tree/plant.ts";

let tree: Tree;
let agent: Running;
const aborts: AbortController[] = [];

beforeEach(async () => {
  tree = new Tree().plant(situation(V2, {}, {}));
  agent = await startAgent(optionsOn(tree));
});
afterEach(async () => {
  for (const abort of aborts.splice(0)) abort.abort();
  await agent.stop();
  tree[Symbol.dispose]();
});

/** The data of the events of a stream, as they come. */
async function* subscribe(): AsyncGenerator<InterferenceEvent> {
  const abort = new AbortController();
  aborts.push(abort);
  const response = await fetch(`${agent.addresses["http"]}/v1/events`, { signal: abort.signal });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body!) {
    const messages = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n\n");
    rest = messages.pop() ?? "";
    for (const message of messages) {
      const data = message.split("\n").find((line) => line.startsWith("data: "));
      if (data !== undefined) yield InterferenceEvent.parse(JSON.parse(data.slice("data: ".length)));
    }
  }
}

/** Lets the node's counters go on once a second, as a kernel would: quietly, or with a hog on every CPU. */
function live(): { hog: () => void; stop: () => void } {
  let seconds = 0;
  let busy = 400;
  let isHogged = false;
  const timer = setInterval(() => {
    seconds += 0.1;
    busy += isHogged ? 0.4 : 0.004;
    const idle = 4000 + 4 * seconds - (busy - 400);
    tree.plant(
      situation(
        V2,
        { busySeconds: busy, idleSeconds: idle, cpuWaitSeconds: 3 + (isHogged ? seconds : 0) },
        {},
      ),
    );
  }, 100);
  return {
    hog: () => {
      isHogged = true;
    },
    stop: () => clearInterval(timer),
  };
}

/** The node's busy ratio, once two samples told it. */
async function cpuBusyRatio(): Promise<number | undefined> {
  const response = await fetch(`${agent.addresses["http"]}/v1/snapshot`);
  const { signals } = (await response.json()) as Partial<Snapshot>;
  return signals?.["cpu.busyRatio"]?.value;
}

describe("/v1/events", () => {
  test("the onset of interference is told within three seconds, of the node and of its containers", async () => {
    const node = live();
    try {
      const events = subscribe();
      const first = events.next();
      await waitUntil(async () => (await cpuBusyRatio()) !== undefined);
      const startMs = performance.now();
      node.hog();
      let nodeAfterMs: number | undefined;
      const told = new Set<string>();
      for (let event = await first; !event.done; event = await events.next()) {
        const { nodeMove, containers } = event.value;
        const moved =
          nodeMove?.moved.includes("cpu") === true && (nodeMove.interference.cpu.value ?? 0) > 0.3;
        if (moved) nodeAfterMs ??= performance.now() - startMs;
        for (const { id, interference } of containers) if ((interference.cpu.value ?? 0) > 0.3) told.add(id);
        if (nodeAfterMs !== undefined && told.size === V2.containers.length) break;
      }
      expect(nodeAfterMs).toBeLessThan(3_000);
      expect(performance.now() - startMs).toBeLessThan(3_500);
    } finally {
      node.stop();
    }
  });

  test("subscribers are bounded, and a place is free again when one leaves", async () => {
    const open = async (): Promise<Response> => {
      const abort = new AbortController();
      aborts.push(abort);
      return fetch(`${agent.addresses["http"]}/v1/events`, { signal: abort.signal });
    };
    const responses = await Promise.all(Array.from({ length: 17 }, open));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(16);
    const refused = responses.find(({ status }) => status === 503);
    expect(refused?.headers.get("retry-after")).toBe("10");
    await refused?.text();
    aborts.find((_, at) => responses[at]?.status === 200)!.abort();
    let status = 503;
    for (let attempt = 0; attempt < 100 && status === 503; attempt += 1) {
      status = (await open()).status;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(status).toBe(200);
  });
});
