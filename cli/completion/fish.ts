import type { CompletedCommand, CompletedOption } from "./tree.ts";

/** The same for fish. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap((command) => [
    `complete -c tradewind -n __fish_use_subcommand -a ${command.name} -d ${quoted(command.description)}`,
    ...command.words.map(({ description, name }) => `${under(command)} -a ${name} -d ${quoted(description)}`),
    ...command.options.map((option) => `${under(command)} ${optionWords(option)}`),
  ]);
  return `# fish completion of tradewind: tradewind completion fish | source
complete -c tradewind -f
${lines.join("\n")}
`;
}

const under = ({ name }: CompletedCommand): string =>
  `complete -c tradewind -n '__fish_seen_subcommand_from ${name}'`;

function optionWords({ description, flags, value }: CompletedOption): string {
  const names = flags.map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const values = {
    none: [],
    any: ["-x"],
    file: ["-r -F"],
    choice: [`-x -a ${quoted(value.kind === "choice" ? value.choices.join(" ") : "")}`],
  }[value.kind];
  return [...names, ...values, `-d ${quoted(description)}`].join(" ");
}

const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
