/**
 * Rules of the linter for names. A type is a noun: no bare participle. A name that lives over more than five lines says what its value is: no
 * function word. A name that a pattern takes over from a field is the field's and not looked at.
 */

const MOST_LINES = 5;

/** Determiners, prepositions, adverbs and participles that say nothing of a value. */
const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  (
    "after again ahead all any anew at before behind beside both by down each every few from had here how in it least less " +
    "many more most much next none of off on one only or other others out over own same since so some such than that them " +
    "then there these this those to under until up what when where which while who why with " +
    "asked begun chosen decided done fixed found given gone got held kept known left made meant named seen set shown sorted stated taken told wanted"
  ).split(" "),
);
/** Words that end as participles do and are nouns. */
const NOUNS_IN_ED: ReadonlySet<string> = new Set(["Bed", "Feed", "Need", "Seed", "Speed", "Shed", "Thread"]);
const IRREGULAR: ReadonlySet<string> = new Set(
  "Begun Bound Built Chosen Done Drawn Found Given Gone Grown Held Kept Known Lost Lying Made Meant Met Put Read Seen Sent Shown Shrunk Spent Taken Told Understood Written".split(
    " ",
  ),
);

interface Position {
  readonly line: number;
}
interface Node {
  readonly type: string;
  readonly name?: string;
  readonly loc: { readonly start: Position; readonly end: Position };
  readonly parent?: Node & { readonly shorthand?: boolean };
}
interface TypeDeclaration extends Node {
  readonly id: Node | null;
}
interface Variable {
  readonly name: string;
  readonly identifiers: readonly Node[];
  readonly references: readonly { readonly identifier: Node }[];
}
interface Context {
  readonly sourceCode: { getDeclaredVariables(node: Node): readonly Variable[] };
  report(finding: { readonly node: Node; readonly message: string }): void;
}

/** Whether a type's name is one word, and that a participle. */
const isParticiple = (name: string): boolean =>
  /^[A-Z][a-z]+$/.test(name) && (IRREGULAR.has(name) || (name.endsWith("ed") && !NOUNS_IN_ED.has(name)));

function checkType(context: Context, { id }: TypeDeclaration): void {
  if (id?.name === undefined || !isParticiple(id.name)) return;
  context.report({ node: id, message: `A type is a noun: '${id.name}' does not say what it holds.` });
}

/** `{ before }` and `{ before = 1 }` are called as the field is. */
function isOfField({ parent }: Node): boolean {
  const property = parent?.type === "AssignmentPattern" ? parent.parent : parent;
  return property?.type === "Property" && property.shorthand === true;
}

function checkVariables(context: Context, node: Node): void {
  for (const { identifiers, name, references } of context.sourceCode.getDeclaredVariables(node)) {
    const [identifier] = identifiers;
    if (identifier === undefined || !FUNCTION_WORDS.has(name) || isOfField(identifier)) continue;
    const lines = [identifier, ...references.map((reference) => reference.identifier)].map(
      ({ loc }) => loc.end.line,
    );
    if (Math.max(...lines) - Math.min(...lines) <= MOST_LINES) continue;
    const message = `'${name}' lives over more than ${MOST_LINES} lines and does not say what it is: name the value, with its unit or owner.`;
    context.report({ node: identifier, message });
  }
}

const noun = {
  create: (context: Context) => ({
    ClassDeclaration: (node: TypeDeclaration) => checkType(context, node),
    TSInterfaceDeclaration: (node: TypeDeclaration) => checkType(context, node),
    TSTypeAliasDeclaration: (node: TypeDeclaration) => checkType(context, node),
  }),
};

const telling = {
  create: (context: Context) => {
    const check = (node: Node): void => checkVariables(context, node);
    return {
      ArrowFunctionExpression: check,
      FunctionDeclaration: check,
      FunctionExpression: check,
      VariableDeclaration: check,
    };
  },
};

export default { meta: { name: "names" }, rules: { noun, telling } };
