import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "@tradewind/cli/commands.ts";
import { installed } from "../../installed.ts";
import { tradewind } from "../tradewind.ts";

const bash = installed("bash");

/** What bash offers for the last of these words. */
function offered(script: string, ...words: readonly string[]): string[] {
  const typed = words.map((word) => `'${word}'`).join(" ");
  const program = `${script}
COMP_WORDS=(tradewind ${typed}); COMP_CWORD=${words.length}; _tradewind; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const text = execFileSync(bash ?? "bash", ["--norc", "-c", program], { encoding: "utf8" });
  return text.split("\n").filter((line) => line !== "");
}

describe.skipIf(bash === undefined)("bash completion", () => {
  it("offers every command, the options of one, the values of an option, and files", async () => {
    const { code, stdout: script } = await tradewind("completion", "bash");
    expect(code).toBe(0);
    const names = COMMANDS.map(({ name }) => name);
    expect(offered(script, "")).toEqual(expect.arrayContaining(names));
    expect(offered(script, "wha")).toEqual(["what-if"]);
    expect(offered(script, "what-if", "--re")).toEqual(["--replicas"]);
    expect(offered(script, "status", "--json", "--serv")).toEqual(["--service"]);
    expect(offered(script, "doctor", "--exp"), "hidden options stay hidden").toEqual([]);
    expect(offered(script, "local", "--quota", "e")).toEqual(["emulated"]);
    expect(offered(script, "audit", "ver")).toEqual(["verify"]);
    expect(offered(script, "completion", "")).toEqual(expect.arrayContaining(["bash", "zsh", "fish"]));
    expect(offered(script, "backtest", "--config", "package.js")).toEqual(["package.json"]);
    expect(offered(script, "what-if", "--service", ""), "nothing is known of services").toEqual([]);
  });
});

describe("completion of other shells", () => {
  it.each([
    ["zsh", /^ {4}what-if\) _arguments [^]*'\*--replicas\[/m],
    ["fish", /^complete -c tradewind -n '__fish_seen_subcommand_from what-if' -l replicas -x -d /m],
  ])("%s knows the options of each command", async (shell, pattern) => {
    const { code, stdout } = await tradewind("completion", shell);
    expect(code).toBe(0);
    expect(stdout).toMatch(pattern);
    for (const { name } of COMMANDS) expect(stdout).toContain(name);
  });

  it("refuses a shell that it does not know, with those that it does", async () => {
    const { code, stderr } = await tradewind("completion", "csh");
    expect(code).toBe(2);
    expect(stderr).toContain("Allowed choices are bash, zsh, fish");
  });
});
