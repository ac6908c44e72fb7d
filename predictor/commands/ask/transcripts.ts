import type { TranscriptLine } from "@tradewind/core/contract/transcript.ts";
import { CAUSE_TYPES } from "@tradewind/core/contract/cause.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { BUILT_IN } from "../../answers/reason/accuracy.ts";
import { idsOf } from "../../answers/reason/check-answer.ts";
import { parseTranscript, renderTranscript } from "../../answers/reason/grammar.ts";
import type { Root } from "../../answers/reason/grammar.ts";
import { readAnswer } from "../../answers/reason/read-answer.ts";
import { rewardOf } from "../../answers/reason/reward.ts";

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
  const { invalid } = parseTranscript(line.answer);
  const transcript = readAnswer(line.answer, idsOf(line.sketch))?.transcript;
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

/** Forms of a data set: transcripts as they are, chats for supervised tuning, pairs of a better and a worse answer for preference tuning. */
export const TRANSCRIPT_FORMS = ["lines", "chat", "pairs"] as const;

/** What a model was asked and answered, as messages, with its reward where the cause is known. */
export function chatsOf(lines: readonly TranscriptLine[]): object[] {
  return lines.flatMap(({ answer, messages, reward }) =>
    messages === undefined
      ? []
      : [
          {
            messages: [...messages, { role: "assistant", content: answer }],
            ...(reward && { reward: reward.total }),
          },
        ],
  );
}

/**
 * Two answers to one question each: one that was refused and the one after it, and the model's and the built-in one where the reward tells
 * them apart.
 */
export function pairsOf(lines: readonly TranscriptLine[]): object[] {
  return lines.flatMap((line) => {
    const [system, user, refused] = line.messages ?? [];
    if (system === undefined || user === undefined) return [];
    const pair = (chosen: string, rejected: string): object => ({
      prompt: [system, user],
      chosen: [{ role: "assistant", content: chosen }],
      rejected: [{ role: "assistant", content: rejected }],
    });
    const builtIn = lines.find(({ atMs, model }) => atMs === line.atMs && model === BUILT_IN);
    const better = (line.reward?.total ?? 0) - (builtIn?.reward?.total ?? 0);
    return [
      ...(refused === undefined ? [] : [pair(line.answer, refused.content)]),
      ...(builtIn === undefined || better === 0
        ? []
        : [better > 0 ? pair(line.answer, builtIn.answer) : pair(builtIn.answer, line.answer)]),
    ];
  });
}

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

/**
 * The same with numbers instead of names, in every text too. Names that are not in a sketch, such as those of nodes, are found in
 * the built-in texts and in what models were asked, which quote every name. Of an answer in its form only the four stages are kept.
 */
export function anonymised(lines: readonly TranscriptLine[]): TranscriptLine[] {
  const builtIn = lines.filter(({ model }) => model === BUILT_IN);
  const inAnswers = builtIn.flatMap(({ answer }) =>
    [...answer.matchAll(/'([^'\s]+)'/g)].map(([, name = ""]) => name),
  );
  const inQuestions = lines.flatMap(({ messages = [] }) =>
    [...(messages[1]?.content ?? "").matchAll(/"([^"\s]+)"/g)].map(([, name = ""]) => name),
  );
  const quoted = [...inAnswers, ...inQuestions];
  const services = new Set(lines.flatMap(({ sketch }) => sketch.services.map(({ name }) => name)));
  const nodes = quoted.filter((name) => !services.has(name));
  // A model may name a service of an earlier incident that has gone since.
  const others = [...new Set([...nodes, ...services])];
  return lines.map((line) => anonymisedLine(line, others));
}

function anonymisedLine(line: TranscriptLine, others: readonly string[]): TranscriptLine {
  const { services } = line.sketch;
  const rename = renaming([
    ...services.map(({ id, name }): [string, string] => [name, `service-${id}`]),
    [line.application, "application"],
    ...others.map((name, at): [string, string] => [name, `other-${at + 1}`]),
  ]);
  const transcript = readAnswer(line.answer, idsOf(line.sketch))?.transcript;
  const messages = line.messages?.map(({ content, role }) => ({ role, content: rename(content) }));
  return {
    ...line,
    ...(messages && { messages }),
    application: "application",
    answer:
      transcript === undefined
        ? rename(line.answer)
        : renderTranscript({
            ...transcript,
            think: rename(transcript.think),
            counterfactuals: transcript.counterfactuals.map((each) =>
              Object.assign({ ...each }, { why: rename(each.why) }),
            ),
          }),
    sketch: {
      ...line.sketch,
      application: "application",
      services: services.map((each) => Object.assign({ ...each }, { name: `service-${each.id}` })),
    },
  };
}

/** Replaces names that stand as whole words, all at once: what takes the place of one may hold another. The first of equal names counts. */
function renaming(names: readonly (readonly [name: string, instead: string])[]): (text: string) => string {
  const byName = new Map(names.toReversed());
  const byLowerCase = new Map(names.toReversed().map(([name, instead]) => [name.toLowerCase(), instead]));
  // Longer names first: one may be part of another.
  const longestFirst = [...byName.keys()].filter((name) => name !== "").sort((a, b) => b.length - a.length);
  const escaped = longestFirst.map((name) => name.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const found = new RegExp(`(?<![\\p{L}\\p{N}])(?:${escaped.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  return (text) =>
    text.replaceAll(found, (word) => byName.get(word) ?? byLowerCase.get(word.toLowerCase()) ?? word);
}
