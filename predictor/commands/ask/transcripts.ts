import type { TranscriptLine } from "@tradewind/core/contract/transcript.ts";
import { CAUSE_TYPES } from "@tradewind/core/contract/cause.ts";
import { TradewindError } from "@tradewind/core/errors.ts";
import { parseTranscript } from "../../reason/grammar.ts";
import type { Root } from "../../reason/grammar.ts";
import { rewardOf } from "../../reason/reward.ts";

/** Characters of a token of English text and JSON, about. */
const CHARACTERS_PER_TOKEN = 4;

/**
 * A transcript with what an operator says the causes were, and its reward against them.
 * @param causes each `service:type`
 * @throws TradewindError `invalid-input` where one names no service of the sketch, or no type
 */
export function scored(line: TranscriptLine, causes: readonly string[]): TranscriptLine {
  const root = causes.map((text) => rootIn(line, text));
  return rewarded({ ...line, labels: { root, source: "operator" } });
}

/** A transcript with its reward against its labels; without labels as it is. */
export function rewarded(line: TranscriptLine): TranscriptLine {
  if (line.labels === undefined) return line;
  const truth = line.labels.root.flatMap(({ id, type }) => {
    const known = CAUSE_TYPES.find((each) => each === type);
    return known === undefined ? [] : [{ id, type: known }];
  });
  const { invalid, transcript } = parseTranscript(line.answer);
  const tokens = Math.ceil(line.answer.length / CHARACTERS_PER_TOKEN);
  const reward = rewardOf({ named: transcript?.roots ?? [], truth, invalid, tokens });
  return { ...line, reward };
}

function rootIn({ sketch }: TranscriptLine, text: string): Root {
  const { service: name, type } = causeOf(text);
  const service = sketch.services.find((each) => each.name === name);
  if (service !== undefined) return { id: service.id, type };
  throw new TradewindError("invalid-input", `${FORM}; there is no service '${name}'`);
}

const FORM = "--cause takes SERVICE:TYPE, for example cart:C";

/** `service:type`. @throws TradewindError `invalid-input` */
export function causeOf(text: string): { readonly service: string; readonly type: Root["type"] } {
  const cut = text.lastIndexOf(":");
  const [service, letter] = [text.slice(0, Math.max(0, cut)), text.slice(cut + 1)];
  const type = CAUSE_TYPES.find((each) => each === letter);
  if (type !== undefined && service !== "") return { service, type };
  const problem =
    type === undefined ? `'${letter}' is none of ${CAUSE_TYPES.join(", ")}` : "a service is missing";
  throw new TradewindError("invalid-input", `${FORM}; ${problem}`);
}

/** The same with numbers instead of names, in the answer's text too. */
export function anonymised(line: TranscriptLine): TranscriptLine {
  const { services } = line.sketch;
  // Longer names first: one may be part of another.
  const byLength = services.toSorted((a, b) => b.name.length - a.name.length);
  const answer = byLength.reduce(
    (text, { id, name }) => text.replaceAll(`'${name}'`, `'service-${id}'`),
    line.answer,
  );
  return {
    ...line,
    application: "application",
    answer,
    sketch: {
      ...line.sketch,
      application: "application",
      services: services.map((each) => Object.assign({ ...each }, { name: `service-${each.id}` })),
    },
  };
}
