import { TRANSCRIPT_SCHEMA, TranscriptLine } from "@tradewind/core/contract/transcript.ts";
import {
  anonymised,
  chatsOf,
  pairsOf,
  rewarded,
  scored,
} from "@tradewind/predictor/commands/ask/transcripts.ts";
import { parseTranscript, renderTranscript } from "@tradewind/predictor/answers/reason/grammar.ts";
import { describe, expect, it } from "vitest";

const LINE: TranscriptLine = {
  schema: TRANSCRIPT_SCHEMA,
  application: "shop",
  atMs: 1,
  model: "built-in",
  sketchHash: "0123456789abcdef",
  sketch: {
    services: [
      { id: 1, name: "cart" },
      { id: 2, name: "cart-db" },
    ],
  },
  answer: renderTranscript({
    think: "Cause: 'cart-db', CPU; 'cart' waits.",
    faults: [],
    counterfactuals: [],
    roots: [{ id: 2, type: "C" }],
  }),
};

const asked = [
  { role: "system" as const, content: "You judge." },
  { role: "user" as const, content: '<state>\n1 "cart": replicas 2; on "worker-7" 2\n2 "cart-db"\n</state>' },
];
const again = [
  { role: "assistant" as const, content: "cart is slow" },
  { role: "user" as const, content: "Once more." },
];

describe("a data set for tuning", () => {
  const right = { ...LINE, model: "small", messages: [...asked, ...again] };
  const labels = { root: [{ id: 2, type: "C" }], source: "operator" as const };

  it("has what a model was asked and answered as messages, with the reward where the cause is known", () => {
    const [chat, ...others] = chatsOf([LINE, rewarded({ ...right, labels })]) as [
      { messages: { role: string }[]; reward: number },
    ];
    expect(others).toEqual([]);
    expect(chat.messages.map(({ role }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
    expect(chat.reward).toBeCloseTo(1.1, 5);
  });

  it("has pairs of a refused answer and the one after it, and of two answers that the reward tells apart", () => {
    const wrong = { ...LINE, answer: LINE.answer.replace('<root>[{"id":2', '<root>[{"id":1') };
    const lines = [wrong, right].map((line) => rewarded({ ...line, labels }));
    expect(pairsOf(lines)).toMatchObject([
      { prompt: asked, chosen: [{ content: right.answer }], rejected: [{ content: "cart is slow" }] },
      { prompt: asked, chosen: [{ content: right.answer }], rejected: [{ content: wrong.answer }] },
    ]);
    expect(pairsOf([LINE])).toEqual([]);
  });

  it("holds no name of a service or a node once it is anonymised", () => {
    expect(JSON.stringify(chatsOf(anonymised([LINE, right])))).not.toMatch(/cart|shop|worker/);
  });
});

describe("a transcript", () => {
  it("is scored against what an operator says the cause was: all right gives 0.2 + 0.8 + 0.1", () => {
    const line = TranscriptLine.parse(scored(LINE, ["cart-db:C"]));
    expect(line.labels).toEqual({ root: [{ id: 2, type: "C" }], source: "operator" });
    expect(line.reward).toMatchObject({ format: 0, length: 0 });
    expect(line.reward!.total).toBeCloseTo(1.1, 5);
  });

  it("scores nothing for another service", () => {
    expect(scored(LINE, ["cart:C"]).reward!.result).toBeCloseTo(0, 5);
  });

  it.each(["cart", "nobody:C", "cart:Q", ":", ""])("is not scored against '%s'", (cause) => {
    expect(() => scored(LINE, [cause])).toThrow("SERVICE:TYPE");
  });

  it("holds no name of a service or of the application once it is anonymised, and the same roots", () => {
    const [line] = anonymised([LINE]);
    expect(JSON.stringify(line)).not.toMatch(/cart|shop/);
    expect(parseTranscript(line!.answer).transcript).toMatchObject({
      think: "Cause: 'service-2', CPU; 'service-1' waits.",
      roots: [{ id: 2, type: "C" }],
    });
  });

  it("holds no name however a model writes it, and the same claims", () => {
    const faults = [{ id: 2, type: "C" as const, evidence: [], confidence: 0.5 }];
    const claim = { id: 2, resource: "cpu" as const, from: 1, to: 2, expected: "better" as const };
    const answer = renderTranscript({
      think:
        'Shop is slow. Cart waits for "cart-db", (cart→cart-db). Cartons of cart-db-0 are on worker-7.internal, as ads was.',
      faults,
      counterfactuals: [{ ...claim, why: 'cart-db is short of cpu: "cart" waits' }],
      roots: [{ id: 2, type: "C" }],
    });
    const seen = "Cause: 'cart-db', CPU. 'cart-db' takes 3.0 times as long as usual on 'worker-7.internal'.";
    const builtIn = renderTranscript({ think: seen, faults, counterfactuals: [], roots: [] });
    const [first, second] = anonymised([
      { ...LINE, answer: builtIn },
      { ...LINE, model: "a model", answer },
      { ...LINE, sketch: { services: [{ id: 1, name: "ads" }] } },
    ]);
    expect(parseTranscript(first!.answer).transcript!.think).toBe(
      "Cause: 'service-2', CPU. 'service-2' takes 3.0 times as long as usual on 'other-1'.",
    );
    expect(parseTranscript(second!.answer).transcript).toEqual({
      think:
        'application is slow. service-1 waits for "service-2", (service-1→service-2). Cartons of service-2-0 are on other-1, as other-4 was.',
      faults,
      counterfactuals: [{ ...claim, why: 'service-2 is short of cpu: "service-1" waits' }],
      roots: [{ id: 2, type: "C" }],
    });
  });

  it("keeps its form where services are called like parts of it, and a name in place of a name is not replaced again", () => {
    const services = ["C", "cpu", "root", "service", "type"].map((name, at) => ({ id: at + 1, name }));
    const roots = [{ id: 4, type: "C" as const }];
    const answer = renderTranscript({ think: "service waits", faults: [], counterfactuals: [], roots });
    const [line] = anonymised([{ ...LINE, sketch: { services }, answer }]);
    expect(parseTranscript(line!.answer).transcript).toMatchObject({ think: "service-4 waits", roots });
  });

  it("holds no name where the answer has not the form of one", () => {
    const [line] = anonymised([{ ...LINE, model: "a model", answer: "<think>It is cart-db.</think> cart" }]);
    expect(line!.answer).toBe("<think>It is service-2.</think> service-1");
  });
});
