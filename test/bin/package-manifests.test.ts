import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";

const ROOT = dirname(dirname(import.meta.dirname));
const SOURCE = "https://git.example.com/team/tradewind";
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };

/** Runs the command on archives of this content, by name. */
function manifests(archives: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), "tradewind-manifests-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(archives)) writeFileSync(join(folder, name), content);
  const program = join(ROOT, "bin", "package-manifests.ts");
  const args = [program, "--source", SOURCE, "--archives", folder, "--output", folder];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return { status, stderr, read: (name: string) => readFileSync(join(folder, name), "utf8") };
}

const sumOf = (content: string): string => createHash("sha256").update(content).digest("hex");

describe("manifests of package managers", () => {
  it("name each archive of the release with its sum, for krew and for Homebrew", () => {
    const { read, status, stderr } = manifests({
      "tradewind-linux-x64.tar.gz": "linux",
      "tradewind-darwin-arm64.tar.gz": "mac",
      "notes.md": "nothing of it",
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const address = `${SOURCE}/releases/download/v${version}`;
    const plugin = parse(read("tradewind.yaml")) as { spec: { version: string; platforms: object[] } };
    expect(plugin.spec.version).toBe(`v${version}`);
    expect(plugin.spec.platforms).toMatchObject([
      {
        selector: { matchLabels: { os: "darwin", arch: "arm64" } },
        uri: `${address}/tradewind-darwin-arm64.tar.gz`,
        sha256: sumOf("mac"),
        bin: "kubectl-tradewind",
      },
      { selector: { matchLabels: { os: "linux", arch: "amd64" } }, sha256: sumOf("linux") },
    ]);
    const formula = read("tradewind.rb");
    for (const text of ["on_macos do", "on_linux do", sumOf("mac"), sumOf("linux"), `version "${version}"`])
      expect(formula).toContain(text);
  });

  it("are refused where there is no archive, with what to do", () => {
    const { status, stderr } = manifests({});
    expect(status).toBe(1);
    expect(stderr).toContain("npm run executable");
  });
});
