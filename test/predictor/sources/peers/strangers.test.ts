import { connect } from "node:net";
import type { Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  ENVELOPE_HEADER,
  hashOf,
  PeerAnswer,
  seal,
  unseal,
} from "@tradewind/predictor/sources/peers/envelope.ts";
import type { PeerMessage } from "@tradewind/predictor/sources/peers/envelope.ts";
import { waitUntil } from "../../../wait-until.ts";
import { node, oneSpan, pair, SECRET, send } from "./nodes.ts";
import type { Node } from "./nodes.ts";

const secret = Buffer.from(SECRET);
const STRANGER = "00000000-0000-4000-8000-00000000000e";

function message(fields: Partial<PeerMessage>, body = ""): PeerMessage {
  return {
    kind: "alive",
    from: STRANGER,
    epoch: 1,
    turn: 1,
    sequence: 0,
    waitedMs: 0,
    contentType: "application/json",
    bodyHash: hashOf(Buffer.from(body)),
    ...fields,
  };
}

async function post(to: Node, envelope: string | undefined, body = ""): Promise<Response> {
  return fetch(`${to.address}/v1/peer`, {
    method: "POST",
    headers: envelope === undefined ? {} : { [ENVELOPE_HEADER]: envelope },
    body,
  });
}

describe("the peers' port", () => {
  it("says nothing to who does not know the secret, and counts nothing of theirs", async () => {
    const { a, b, metMs } = await pair();
    const body = oneSpan("forged");
    const guess = Buffer.from("a guess of enough bytes");
    const forged = message(
      { kind: "batch", from: b.peers.instance, to: a.peers.instance, sequence: 2 ** 53 - 1 },
      body,
    );
    for (const envelope of [
      undefined,
      "",
      "a.b",
      seal(guess, forged),
      seal(guess, message({ kind: "hello" })),
    ]) {
      const response = await post(a, envelope, body);
      expect(response.status).toBe(401);
      expect(await response.text()).toBe("");
      expect([...response.headers].flat().join()).not.toContain(a.peers.instance);
      expect(response.headers.get(ENVELOPE_HEADER)).toBeNull();
    }
    await send(b, "after");
    await waitUntil(() => a.spans.includes("after"));
    expect(a.spans).toEqual(["after"]);
    await a.whole(metMs);
    expect(a.peers.health()).toMatchObject({ strangersTotal: 5, missedTotal: 0 });
  });

  it("says what the policies remember to who knows the secret, and to nobody else", async () => {
    const a = await node("127.0.0.2:0", { state: () => "what was learnt" });
    const refused = await post(a, seal(Buffer.from("a guess of enough bytes"), message({ kind: "state" })));
    expect([refused.status, await refused.text()]).toEqual([401, ""]);
    const told = await post(a, seal(secret, message({ kind: "state" })));
    const text = await told.text();
    const answer = unseal(secret, told.headers.get(ENVELOPE_HEADER), PeerAnswer);
    expect(text).toBe("what was learnt");
    expect(answer).toMatchObject({ to: STRANGER, bodyHash: hashOf(Buffer.from(text)) });
  });

  it("takes no other body than the one that the envelope was sealed for", async () => {
    const { a, b, metMs } = await pair();
    const fields = { kind: "batch", from: b.peers.instance, to: a.peers.instance, sequence: 1 } as const;
    const sealed = seal(secret, message({ ...fields, epoch: 99 }, "what was meant"));
    expect((await post(a, sealed, oneSpan("changed"))).status).toBe(401);
    expect(a.spans).toEqual([]);
    await a.whole(metMs);
  });

  it("counts a message that is sent again once, and it keeps no peer alive", async () => {
    const a = await node("127.0.0.2:0", { targets: ["http://127.0.0.2:1"] });
    const body = oneSpan("once");
    const captured = seal(secret, message({ kind: "batch", to: a.peers.instance, sequence: 1 }, body));
    const answers = [await post(a, captured, body), await post(a, captured, body)];
    for (const { headers } of answers) {
      const answer = unseal(secret, headers.get(ENVELOPE_HEADER), PeerAnswer);
      expect(answer).toMatchObject({ from: a.peers.instance, to: STRANGER, turn: 1, result: "taken" });
    }
    expect(a.spans).toEqual(["once"]);
    expect(a.peers.health().replaysTotal).toBe(1);
    await waitUntil(async () => {
      await post(a, captured, body);
      return a.missing().length > 0;
    });
  });

  it("reads no body of a message that came before, and ends who floods it with copies", async () => {
    const a = await node("127.0.0.2:0", { targets: ["http://127.0.0.2:1"] });
    const body = oneSpan("once");
    const captured = seal(secret, message({ kind: "batch", to: a.peers.instance, sequence: 1 }, body));
    await post(a, captured, body);
    // Another body than the envelope's would be refused if it were looked at.
    const again = await post(a, captured, oneSpan("changed"));
    expect([again.status, again.headers.get("connection")]).toEqual([200, "close"]);
    const answered: boolean[] = [];
    for (let index = 0; index < 3_000 && answered.at(-1) !== false; index += 1)
      answered.push(
        await post(a, captured).then(
          () => true,
          () => false,
        ),
      );
    expect(answered.at(-1)).toBe(false);
    // A message that is new is taken from the same address.
    const fresh = oneSpan("next");
    const next = message({ kind: "batch", to: a.peers.instance, sequence: 2, turn: 2 }, fresh);
    expect((await post(a, seal(secret, next), fresh)).status).toBe(200);
    expect(a.spans).toEqual(["once", "next"]);
  });

  it("takes nothing that was meant for the process before a restart", async () => {
    const first = await node("127.0.0.2:0", { targets: ["http://127.0.0.2:1"] });
    const body = oneSpan("of the life before");
    const captured = seal(secret, message({ kind: "batch", to: first.peers.instance, sequence: 1 }, body));
    await first.stop();
    const { port } = new URL(first.address);
    const second = await node(`127.0.0.2:${port}`, { targets: ["http://127.0.0.2:1"] });
    expect((await post(second, captured, body)).status).toBe(409);
    expect(second.spans).toEqual([]);
    expect(second.missing()).toEqual([]);
  });

  it("is believed by nobody who cannot have a proof from it", async () => {
    const impostor = await node("127.0.0.3:0", {
      targets: ["http://127.0.0.3:1"],
      secretText: "another secret of enough bytes",
    });
    const a = await node("127.0.0.2:0", { targets: [impostor.address] });
    await send(a, "for peers only");
    await waitUntil(() => a.peers.health().states.stranger === 1);
    expect(a.missing().join()).toContain("does not know the secret");
    expect(impostor.spans).toEqual([]);
  });

  it("goes on to serve peers while strangers hold more connections than there is place for", async () => {
    const { a, b, metMs } = await pair();
    const sockets: Socket[] = [];
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    const { hostname, port } = new URL(a.address);
    for (let index = 0; index < 200; index += 1) {
      sockets.push(connect(Number(port), hostname).on("error", () => undefined));
    }
    await waitUntil(() => sockets.filter(({ destroyed }) => destroyed).length >= 150);
    await send(b, "still heard");
    await waitUntil(() => a.spans.includes("still heard"));
    await a.whole(metMs);
  });
});

describe("the clients' port", () => {
  it("knows no peers: what claims to come from one is a client's batch, and the answer names nobody", async () => {
    const { a, b, metMs } = await pair();
    const headers = { "tradewind-peer": b.peers.instance, "tradewind-peer-sequence": "9007199254740991" };
    const response = await send(a, "claims to be forwarded", headers);
    expect([...response.headers].flat().join()).not.toContain(a.peers.instance);
    expect(response.headers.get("tradewind-instance")).toBeNull();
    await waitUntil(() => b.spans.includes("claims to be forwarded"));
    await send(b, "goes on");
    await waitUntil(() => a.spans.includes("goes on"));
    await Promise.all([a.whole(metMs), b.whole(metMs)]);
  });
});
