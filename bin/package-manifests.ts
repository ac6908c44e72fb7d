/**
 * Writes what package managers install the executables by: krew's `tradewind.yaml`, and Homebrew's `tradewind.rb`.
 * `node bin/package-manifests.ts --source https://…/tradewind --archives DIR --output DIR`, with one `tradewind-OS-ARCH.tar.gz` each.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { stringify } from "yaml";

const DESCRIPTION = "Keeps microservice applications inside their latency objective";
const ARCHITECTURES = { x64: "amd64", arm64: "arm64" } as const;
const ARCHIVE = /^tradewind-(linux|darwin)-(x64|arm64)\.tar\.gz$/;

interface Archive {
  readonly os: "linux" | "darwin";
  readonly arch: keyof typeof ARCHITECTURES;
  readonly uri: string;
  readonly sha256: string;
}

/** @param address where the release's files are */
function archivesIn(folder: string, address: string): Archive[] {
  const archives: Archive[] = [];
  for (const file of readdirSync(folder).sort()) {
    const [, os, arch] = ARCHIVE.exec(file.slice(0, 60)) ?? [];
    if (os === undefined || arch === undefined) continue;
    const sha256 = createHash("sha256")
      .update(readFileSync(join(folder, file)))
      .digest("hex");
    archives.push({ os, arch, uri: `${address}/${file}`, sha256 } as Archive);
  }
  return archives;
}

const binaryOf = ({ arch, os }: Archive): string => `tradewind-${os}-${arch}`;

const krew = (version: string, source: string, archives: readonly Archive[]): string =>
  stringify({
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "tradewind" },
    spec: {
      version: `v${version}`,
      homepage: source,
      shortDescription: DESCRIPTION,
      description:
        "Asks the Tradewind release in a cluster: status, why, explain, what-if, pause, hold, undo, console. Finds its pods and forwards ports by itself.",
      platforms: archives.map((archive) => ({
        selector: { matchLabels: { os: archive.os, arch: ARCHITECTURES[archive.arch] } },
        uri: archive.uri,
        sha256: archive.sha256,
        files: [
          { from: binaryOf(archive), to: "kubectl-tradewind" },
          { from: "LICENSE", to: "." },
        ],
        bin: "kubectl-tradewind",
      })),
    },
  });

function formula(version: string, source: string, archives: readonly Archive[]): string {
  const blocks = (["darwin", "linux"] as const).flatMap((os) => {
    const ofSystem = archives.filter((archive) => archive.os === os);
    if (ofSystem.length === 0) return [];
    const urls = ofSystem.flatMap(({ arch, sha256, uri }) => [
      `    on_${arch === "arm64" ? "arm" : "intel"} do`,
      `      url "${uri}"`,
      `      sha256 "${sha256}"`,
      "    end",
    ]);
    return [`  on_${os === "darwin" ? "macos" : "linux"} do`].concat(urls, "  end", "");
  });
  return [
    "class Tradewind < Formula",
    `  desc "${DESCRIPTION}"`,
    `  homepage "${source}"`,
    `  version "${version}"`,
    '  license "Apache-2.0"',
    "",
    ...blocks,
    "  def install",
    '    bin.install Dir["tradewind-*"].first => "tradewind"',
    '    bin.install_symlink "tradewind" => "kubectl-tradewind"',
    '    generate_completions_from_executable(bin/"tradewind", "completion")',
    "  end",
    "",
    "  test do",
    '    assert_equal version.to_s, shell_output("#{bin}/tradewind --version").strip',
    "  end",
    "end",
    "",
  ].join("\n");
}

const { values } = parseArgs({
  options: {
    source: { type: "string" },
    archives: { type: "string" },
    output: { type: "string", default: "." },
  },
});
const { archives: folder, output, source } = values;
if (source === undefined || folder === undefined) {
  console.error(
    "give --source, the repository's address, and --archives, a folder with tradewind-OS-ARCH.tar.gz",
  );
  process.exit(2);
}
const root = dirname(import.meta.dirname);
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
const archives = archivesIn(folder, `${source}/releases/download/v${version}`);
if (archives.length === 0) {
  console.error(`${folder} holds no tradewind-OS-ARCH.tar.gz: npm run executable makes what goes into one`);
  process.exit(1);
}
mkdirSync(output, { recursive: true });
writeFileSync(join(output, "tradewind.yaml"), krew(version, source, archives));
writeFileSync(join(output, "tradewind.rb"), formula(version, source, archives));
