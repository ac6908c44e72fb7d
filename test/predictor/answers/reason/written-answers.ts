/** Ways in which models write one right answer. */
export interface Written {
  readonly name: string;
  readonly answer: string;
}

const FAULT = {
  id: 1,
  type: "C",
  evidence: [
    { signal: "throttledRatio", value: 0.59 },
    { signal: "selfTimeP95", value: 0.25 },
  ],
  confidence: 0.8,
};
const CHANGE = { id: 1, resource: "replicas", from: 2, to: 3, expected: "better", why: "half the load" };
const ROOT = { id: 1, type: "C" };
const OTHER = { id: 2, type: "N", evidence: [{ signal: "transitTime", value: 3 }], confidence: 0.1 };

interface Parts {
  readonly think?: string;
  readonly faults?: unknown;
  readonly changes?: unknown;
  readonly roots?: unknown;
}

const say = ({
  changes = [CHANGE],
  faults = [FAULT],
  roots = [ROOT],
  think = "It is throttled.",
}: Parts = {}): string =>
  [
    `<think>${think}</think>`,
    `<Fault>${JSON.stringify(faults)}</Fault>`,
    `<Counterfactual>${JSON.stringify(changes)}</Counterfactual>`,
    `<root>${JSON.stringify(roots)}</root>`,
  ].join("\n");

const RIGHT = say();
const without = (of: object, key: string): object =>
  Object.fromEntries(Object.entries(of).filter(([name]) => name !== key));

/** Service 1 is `only`, with two replicas; what is said of it is true. */
export const WRITTEN: readonly Written[] = [
  { name: "as it is asked for", answer: RIGHT },
  { name: "in a code fence", answer: `\`\`\`xml\n${RIGHT}\n\`\`\`` },
  { name: "between sentences", answer: `Here is what I found [1]:\n${RIGHT}\nShall I go on?` },
  {
    name: "with a code fence inside of each tag",
    answer: RIGHT.replaceAll(/<(Fault|Counterfactual|root)>(.*)<\/\1>/g, "<$1>\n```json\n$2\n```\n</$1>"),
  },
  {
    name: "after thoughts of its own",
    answer: `<think>\nThe user wants [a] diagnosis.\n</think>\n\n${RIGHT}`,
  },
  {
    name: "after thoughts whose begin the server took away",
    answer: `So 'only' is slow.\n</think>\n${RIGHT}`,
  },
  {
    name: "after thoughts that hold a draft of all tags",
    answer: `<think>Draft: ${say({ faults: [OTHER], changes: [], roots: [{ id: 2, type: "N" }] })} No.</think>\n${RIGHT}`,
  },
  {
    name: "after thoughts that speak of the tags",
    answer: `<think>I must give <Fault>, then <Counterfactual> and a <root>.</think>\n${RIGHT}`,
  },
  { name: "before a second set that breaks off", answer: `${RIGHT}\nOnce more:\n<Fault>[{"id":2,` },
  { name: "after 900 words", answer: say({ think: "so ".repeat(900) }) },
  { name: "without a thought", answer: RIGHT.slice(RIGHT.indexOf("<Fault>")) },
  { name: "without 'why'", answer: say({ changes: [without(CHANGE, "why")] }) },
  { name: "without 'from'", answer: say({ changes: [without(CHANGE, "from")] }) },
  { name: "without 'expected'", answer: say({ changes: [without(CHANGE, "expected")] }) },
  { name: "without 'confidence'", answer: say({ faults: [without(FAULT, "confidence")] }) },
  {
    name: "with further keys",
    answer: say({ faults: [{ ...FAULT, severity: "high" }], changes: [{ ...CHANGE, risk: 1 }] }),
  },
  { name: "with a confidence in percent", answer: say({ faults: [{ ...FAULT, confidence: 90 }] }) },
  { name: "with a confidence as text", answer: say({ faults: [{ ...FAULT, confidence: "0.9" }] }) },
  { name: "with a confidence in words", answer: say({ faults: [{ ...FAULT, confidence: "very high" }] }) },
  { name: "with ids as text", answer: RIGHT.replaceAll('"id":1', '"id":"1"') },
  { name: "with names for ids", answer: RIGHT.replaceAll('"id":1', '"id":"only"') },
  { name: "with names under 'service'", answer: RIGHT.replaceAll('"id":1', '"service":"Only"') },
  {
    name: "with tags in small letters",
    answer: RIGHT.replaceAll(/<(\/?)(\w+)>/g, (tag) => tag.toLowerCase()),
  },
  { name: "with tags in capitals", answer: RIGHT.replaceAll(/<(\/?)(\w+)>/g, (tag) => tag.toUpperCase()) },
  { name: "with tags in the plural", answer: RIGHT.replaceAll(/(Fault|Counterfactual|root)>/g, "$1s>") },
  { name: "with an attribute in a tag", answer: RIGHT.replace("<Fault>", '<Fault format="json">') },
  { name: "without the last end", answer: RIGHT.replace("</root>", "") },
  {
    name: "with a comma too many",
    answer: RIGHT.replaceAll("}]", "},]").replace('"type":"C"}', '"type":"C",}'),
  },
  { name: "with comments", answer: RIGHT.replaceAll('"type":"C"', '// short of CPU\n"type":"C" /* sure */') },
  { name: "with other quotes", answer: RIGHT.replaceAll('"', "'") },
  { name: "with bare keys", answer: RIGHT.replaceAll(/"(id|type|signal|value|to)":/g, "$1: ") },
  { name: "with one entry in place of a list", answer: say({ faults: FAULT, changes: CHANGE, roots: ROOT }) },
  {
    name: "with a list in an object",
    answer: say({ faults: { faults: [FAULT] }, roots: { root_causes: [ROOT] } }),
  },
  { name: "with a value in percent", answer: RIGHT.replace("0.59", "59") },
  { name: "with a value in percent as text", answer: RIGHT.replace("0.59", '"59 %"') },
  { name: "with a value rounded", answer: RIGHT.replace("0.59", "0.6") },
  { name: "with a value in milliseconds", answer: RIGHT.replace("0.25", '"250 ms"') },
  {
    name: "with values as text",
    answer: RIGHT.replace("0.59", '"0.59"').replace('"to":3', '"to":"3 replicas"'),
  },
  {
    name: "with evidence by signal",
    answer: say({ faults: [{ ...FAULT, evidence: { throttledRatio: 0.59, selfTimeP95: 0.25 } }] }),
  },
  {
    name: "with evidence as text",
    answer: say({ faults: [{ ...FAULT, evidence: ["throttledRatio=0.59", "selfTimeP95: 0.25"] }] }),
  },
  { name: "with a type in words", answer: RIGHT.replaceAll('"type":"C"', '"type":"CPU"') },
  { name: "with a type in small letters", answer: RIGHT.replaceAll('"type":"C"', '"type":"c"') },
  { name: "with a resource in other words", answer: RIGHT.replace('"replicas"', '"pods"') },
  { name: "with a root without a type", answer: say({ roots: [{ id: 1 }] }) },
  { name: "with a root that is a number", answer: say({ roots: [1] }) },
  { name: "with a fault that cites what is not there", answer: say({ faults: [FAULT, OTHER] }) },
  {
    name: "with entries that are none",
    answer: say({
      faults: [FAULT, "see above", { type: "C" }],
      changes: [CHANGE, { id: 1 }],
      roots: [ROOT, {}],
    }),
  },
  {
    name: "as one JSON object",
    answer: JSON.stringify({
      think: "It is throttled.",
      fault: [FAULT],
      counterfactual: [CHANGE],
      root: [ROOT],
    }),
  },
  {
    name: "as one JSON object in a fence after thoughts",
    answer: `<think>{hm}</think>\n\`\`\`json\n${JSON.stringify({ Faults: [FAULT], Counterfactuals: [CHANGE], root_cause: ROOT }, undefined, 2)}\n\`\`\``,
  },
  {
    name: "after the channels of a server that leaves them in",
    answer: `<|channel|>analysis<|message|>Look at [1].<|end|><|start|>assistant<|channel|>final<|message|>${RIGHT}<|return|>`,
  },
  { name: "with tags in square brackets", answer: RIGHT.replaceAll(/<(\/?)(\w+)>/g, "[$1$2]") },
  {
    name: "under headings in place of tags",
    answer: RIGHT.replaceAll(/<(\w+)>(.*)<\/\1>/g, "### $1\n\n```json\n$2\n```\n"),
  },
  {
    name: "under bold words in place of tags",
    answer: RIGHT.replaceAll(/<(\w+)>(.*)<\/\1>/g, "**$1:** $2\n"),
  },
  {
    name: "escaped for a page",
    answer: RIGHT.replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;"),
  },
  { name: "as the text of a JSON string", answer: JSON.stringify(RIGHT) },
  { name: "as a field of a JSON object", answer: JSON.stringify({ role: "assistant", content: RIGHT }) },
  {
    name: "as the arguments of a call",
    answer: JSON.stringify({
      name: "answer",
      arguments: JSON.stringify({ Fault: [FAULT], Counterfactual: [CHANGE], root: [ROOT] }),
    }),
  },
  {
    name: "as one JSON object within another",
    answer: JSON.stringify({
      analysis: { think: "It is throttled.", Fault: [FAULT], Counterfactual: [CHANGE], root: [ROOT] },
    }),
  },
  {
    name: "as one JSON object for each list",
    answer: [{ Fault: [FAULT] }, { Counterfactual: [CHANGE] }, { root: [ROOT] }]
      .map((each) => JSON.stringify(each))
      .join("\n"),
  },
  {
    name: "with an object on each line in place of a list",
    answer: RIGHT.replaceAll(/>\[(.*)\]</g, ">\n$1\n{}\n<"),
  },
  {
    name: "in YAML inside of each tag",
    answer: [
      "<Fault>",
      "- id: 1",
      "  type: C",
      "  evidence:",
      "    - signal: throttledRatio",
      "      value: 0.59",
      "    - signal: selfTimeP95",
      "      value: 0.25",
      "  confidence: 0.8",
      "</Fault>",
      "<Counterfactual>",
      "- id: 1",
      "  resource: replicas",
      "  from: 2",
      "  to: 3",
      "  expected: better",
      "  why: half the load",
      "</Counterfactual>",
      "<root>",
      "- id: 1",
      "  type: C",
      "</root>",
    ].join("\n"),
  },
  {
    name: "with an element for each field",
    answer: [
      "<Fault><id>1</id><type>C</type><evidence><signal>throttledRatio</signal><value>0.59</value></evidence>",
      "<evidence><signal>selfTimeP95</signal><value>0.25</value></evidence></Fault>",
      "<Counterfactual><id>1</id><resource>replicas</resource><from>2</from><to>3</to></Counterfactual>",
      "<root><id>1</id><type>C</type></root>",
    ].join("\n"),
  },
  { name: "with a root in words", answer: RIGHT.replace(/<root>.*<\/root>/, "<root>1 (C)</root>") },
  {
    name: "with a root by name and type",
    answer: RIGHT.replace(/<root>.*<\/root>/, '<root>{"only":"C"}</root>'),
  },
  { name: "with the tags in another order", answer: RIGHT.split("\n").toReversed().join("\n") },
  { name: "with an id after its word", answer: RIGHT.replaceAll('"id":1', '"id":"service 1"') },
  { name: "with an id and its name", answer: RIGHT.replaceAll('"id":1', '"id":"1: \\"only\\""') },
  { name: "with a name and its id", answer: RIGHT.replaceAll('"id":1', '"id":"only (1)"') },
  {
    name: "with keys in snake case",
    answer: RIGHT.replaceAll('"id"', '"service_id"')
      .replace('"to"', '"new_value"')
      .replace('"from"', '"current_value"'),
  },
  {
    name: "with both sizes in one field",
    answer: say({ changes: [{ id: 1, resource: "replicas", change: "2 -> 3" }] }),
  },
  {
    name: "with both sizes in words",
    answer: say({ changes: [{ id: 1, action: "scale replicas from 2 to 3" }] }),
  },
  { name: "with a change by difference", answer: RIGHT.replace('"to":3', '"to":"+1"') },
  {
    name: "with an outcome in a sentence",
    answer: RIGHT.replace('"better"', '"p95 drops below the objective"'),
  },
  {
    name: "with evidence in pairs",
    answer: say({
      faults: [
        {
          ...FAULT,
          evidence: [
            ["throttledRatio", 0.59],
            ["selfTimeP95", 0.25],
          ],
        },
      ],
    }),
  },
  {
    name: "with evidence in one sentence",
    answer: say({ faults: [{ ...FAULT, evidence: "throttledRatio=0.59 (high), selfTimeP95=0.25 (high)" }] }),
  },
  {
    name: "with evidence in words",
    answer: say({ faults: [{ ...FAULT, evidence: ["throttledRatio is 0.59", "selfTimeP95 of 0.25 s"] }] }),
  },
  { name: "with what it left out", answer: RIGHT.replaceAll("}]<", "}, ...]<") },
  {
    name: "with quotes inside of a text",
    answer: RIGHT.replace("half the load", 'half the "load" of "only"'),
  },
  { name: "with a list that breaks off", answer: RIGHT.replace("}]</root>", "") },
  {
    name: "with line ends of Windows and a mark in front",
    answer: `\uFEFF${RIGHT.replaceAll("\n", "\r\n")}`,
  },
];
