import { Command } from "commander";
import { onTestFinished } from "vitest";

/** What a command prints on standard output. */
export async function printedBy(
  configure: (command: Command) => void,
  args: readonly string[],
): Promise<string> {
  const before = process.stdout.write;
  let text = "";
  process.stdout.write = (part: string | Uint8Array) => {
    text += String(part);
    return true;
  };
  const restore = (): void => {
    process.stdout.write = before;
  };
  onTestFinished(restore);
  const command = new Command().exitOverride();
  configure(command);
  await command.parseAsync(args, { from: "user" }).finally(restore);
  return text;
}
