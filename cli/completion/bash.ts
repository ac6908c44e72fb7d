import type { CompletedCommand, CompletedOption } from "./tree.ts";

/** Completion of commands, options, and values that are one of a few words or files, for bash 4 and newer. */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name);
  return `# bash completion of tradewind: source <(tradewind completion bash)
_tradewind() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word != -* ]] && { command=$word; break; }
  done
  COMPREPLY=()
  case "$command $previous" in
${commands.flatMap(({ name, options }) => options.flatMap((option) => valueCase(name, option))).join("\n")}
  esac
  case "$command" in
    "" | help) COMPREPLY=($(compgen -W "${["help", "--help", "--version", ...names].join(" ")}" -- "$current")) ;;
${commands.map((command) => `    ${command.name}) COMPREPLY=($(compgen -W "${wordsOf(command)}" -- "$current")) ;;`).join("\n")}
  esac
}
complete -F _tradewind tradewind
`;
}

function valueCase(command: string, { flags, value }: CompletedOption): string[] {
  if (value.kind === "none") return [];
  const pattern = flags.map((flag) => `"${command} ${flag}"`).join(" | ");
  const reply = {
    any: "",
    file: 'COMPREPLY=($(compgen -f -- "$current")); ',
    choice: `COMPREPLY=($(compgen -W "${value.kind === "choice" ? value.choices.join(" ") : ""}" -- "$current")); `,
  }[value.kind];
  return [`    ${pattern}) ${reply}return ;;`];
}

const wordsOf = ({ options, words }: CompletedCommand): string =>
  [...new Set([...words.map(({ name }) => name), ...options.flatMap(({ flags }) => flags), "--help"])].join(
    " ",
  );
