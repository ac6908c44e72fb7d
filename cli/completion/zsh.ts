import type { CompletedCommand, CompletedOption } from "./tree.ts";

/** The same for zsh, with a description beside each word. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
  const all = commands.map(({ description, name }) => `    ${quoted(`${name}:${escaped(description)}`)}`);
  return `#compdef tradewind
# zsh completion of tradewind: source <(tradewind completion zsh)
_tradewind() {
  local -a commands words_of
  commands=(
${all.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
${commands.map(commandCase).join("\n")}
  esac
}
compdef _tradewind tradewind
`;
}

function commandCase({ name, options, words }: CompletedCommand): string {
  const specs = options.flatMap(argumentSpecs);
  const rest = words.length === 0 ? [] : [quoted(`*:word:(${words.map((word) => word.name).join(" ")})`)];
  return `    ${name}) _arguments ${[...specs, ...rest, quoted("--help[show help]")].join(" \\\n      ")} ;;`;
}

function argumentSpecs({ description, flags, value }: CompletedOption): string[] {
  const action = {
    none: "",
    any: ":value: ",
    file: ":file:_files",
    choice: `:value:(${value.kind === "choice" ? value.choices.join(" ") : ""})`,
  }[value.kind];
  return flags.map((flag) => quoted(`*${flag}[${escaped(description)}]${action}`));
}

const escaped = (text: string): string => text.replaceAll(/[\\[\]:]/g, String.raw`\$&`);
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
