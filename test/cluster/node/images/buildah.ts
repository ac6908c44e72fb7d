import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../../build/run.ts";
import { cacheFolder } from "../../programs.ts";

/** The repository. */
export const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));

/** Has buildah, also that of `npm run images`, keep images in the cache, and build without a daemon and further namespaces. */
export async function buildahEnvironment(): Promise<Record<string, string>> {
  const folder = join(cacheFolder(), "images");
  const file = join(folder, "storage.conf");
  await mkdir(folder, { recursive: true });
  const lines = [
    "[storage]",
    'driver = "overlay"',
    `graphroot = "${join(folder, "store")}"`,
    `runroot = "${join(folder, "run")}"`,
  ];
  await writeFile(file, `${lines.join("\n")}\n`);
  return { CONTAINERS_STORAGE_CONF: file, BUILDAH_ISOLATION: "chroot", BUILDAH_LAYERS: "true" };
}

/** Buildah with images in the cache. */
export async function buildah(...args: readonly string[]): Promise<string> {
  return run("buildah", args, { env: await buildahEnvironment() });
}

export const hasImage = async (image: string): Promise<boolean> =>
  buildah("inspect", "--type=image", image).then(
    () => true,
    () => false,
  );

/** Builds an image from lines of a Dockerfile. @param fill puts the files that it copies into a folder */
export async function buildImage(
  image: string,
  lines: readonly string[],
  fill: (folder: string) => Promise<unknown>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tradewind-image-"));
  try {
    await fill(folder);
    const file = `${folder}.Dockerfile`;
    await writeFile(file, `${lines.join("\n")}\n`);
    await buildah("build", "--pull-never", `--file=${file}`, `--tag=${image}`, folder);
    await rm(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
