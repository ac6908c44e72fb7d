import type { TranscriptLine } from "@tradewind/core/contract/transcript.ts";
import { CAUSE_TYPES } from "@tradewind/core/contract/cause.ts";
import { TradewindError } from "@tradewind/core/errors.ts";
import { parseTranscript } from "../reason/grammar.ts";
import type { Root } from "../reason/grammar.ts";
import { rewardOf } from "../reason/reward.ts";

/** Characters of a token of English text and JSON, about. */
const CHARACTERS_PER_TOKEN = 4;

/**
 * A transcript with what an operator says the causes were, and its reward against them.
 * @param causes each `service:type`
 * @throws TradewindError `invalid-input` where one names no service of the sketch, or no type
 */
export function scored(line: TranscriptLine, causes: readonly string[]): TranscriptLine {
  const truth = causes.map((text) => rootIn(line, text));
  const { invalid, transcript } = parseTranscript(line.answer);
  const tokens = Math.ceil(line.answer.length / CHARACTERS_PER_TOKEN);
  const reward = rewardOf({ named: transcript?.roots ?? [], truth, invalid, tokens });
  return { ...line, labels: { root: truth, source: "operator" }, reward };
}

function rootIn({ sketch }: TranscriptLine, text: string): Root {
  const cut = text.lastIndexOf(":");
  const [name, letter] = [text.slice(0, Math.max(0, cut)), text.slice(cut + 1)];
  const type = CAUSE_TYPES.find((each) => each === letter);
  const service = sketch.services.find((each) => each.name === name);
  if (type !== undefined && service !== undefined) return { id: service.id, type };
  const problem =
    type === undefined ? `'${letter}' is none of ${CAUSE_TYPES.join(", ")}` : `there is no service '${name}'`;
  throw new TradewindError("invalid-input", `--cause takes SERVICE:TYPE, for example cart:C; ${problem}`);
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
