import { copyFile, mkdir, readdir, rename, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { run } from "../../build/run.ts";
import { cacheFolder } from "../../programs.ts";
import { buildah, buildahEnvironment, buildImage, hasImage, ROOT } from "./buildah.ts";
import { nodeTag, unpackDebian, writeNodeRoot } from "./node-root.ts";

type Report = (line: string) => void;

/** Images of the node's own programs, which change with their versions only. */
const PROGRAM_IMAGES = {
  coredns: { user: "0" },
  "keda-operator": { user: "1000" },
  "keda-adapter": { user: "1000" },
} as const;

const TRADEWIND = ["tradewind-agent", "tradewind-predictor", "tradewind-exporter"] as const;
export const HOTEL_IMAGE = "localhost/hotel:1";
export const PAUSE = "localhost/pause:1";

const archivesFolder = (): string => join(cacheFolder(), "images", "archives");

/** Archives of the images that every node needs, which containerd imports. */
export async function archives(): Promise<string[]> {
  const names = await readdir(archivesFolder());
  return names.filter((name) => name.endsWith(".tar")).map((name) => join(archivesFolder(), name));
}

/** Those of the node and KEDA: built once, of programs in a folder. */
export async function buildProgramImages(programs: (name: string) => string, report: Report): Promise<void> {
  for (const [name, { user }] of Object.entries(PROGRAM_IMAGES)) {
    await buildProgramImage(programs(name), { image: `localhost/${name}:1`, user }, report);
  }
  await once(PAUSE, report, async () =>
    buildImage(
      PAUSE,
      ["FROM scratch", "COPY usr /usr", 'ENTRYPOINT ["/usr/bin/catatonit", "-P"]'],
      async (folder) => unpackDebian(folder, "catatonit"),
    ),
  );
}

/** An image of one static program, built once. @returns its archive */
export async function buildProgramImage(
  program: string,
  { file, image, user }: { readonly image: string; readonly user: string; readonly file?: string },
  report: Report,
): Promise<string> {
  const name = basename(program);
  const lines = ["FROM scratch", `COPY ${name} /`, `USER ${user}`, `ENTRYPOINT ["/${name}"]`];
  const build = async (): Promise<void> =>
    buildImage(image, lines, async (folder) => copyFile(program, join(folder, name)));
  return once(image, report, build, file);
}

/** Tradewind's, by `npm run images`, and that of the hotel application. Buildah knows what has changed since. @returns their archives */
export async function buildApplicationImages(report: Report): Promise<string[]> {
  const base = await buildNodeImage(report);
  const env = await buildahEnvironment();
  const startedMs = performance.now();
  const options = ["--tool", "buildah", "--registry", "localhost", "--node-image", base];
  await run("npm", ["run", "images", "--", ...options], { cwd: ROOT, env });
  report(`npm run images took ${Math.round((performance.now() - startedMs) / 1_000)} s`);
  const hotel = join(import.meta.dirname, "..", "hotel", "Dockerfile");
  const ignored = `--ignorefile=${hotel}.dockerignore`;
  await buildah(
    "build",
    "--pull-never",
    `--build-arg=NODE_IMAGE=${base}`,
    ignored,
    `--file=${hotel}`,
    `--tag=${HOTEL_IMAGE}`,
    ROOT,
  );
  const { version } = (await import("../../../../package.json", { with: { type: "json" } })).default;
  const images = [...TRADEWIND.map((name) => `localhost/${name}:${version}`), HOTEL_IMAGE];
  for (const image of images) await archive(image);
  return images.map((image) => archiveOf(image));
}

/** What Tradewind's Dockerfiles are built on here: their image of Node.js, made of packages. @returns its name */
async function buildNodeImage(report: Report): Promise<string> {
  const tag = await nodeTag();
  const image = `localhost/node:${tag}`;
  if (await hasImage(image)) return image;
  report(`making ${image} of packages`);
  const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  await buildImage(
    image,
    ["FROM scratch", "COPY . /", "RUN chmod 1777 /tmp", `ENV PATH=${path}`, 'CMD ["node"]'],
    async (folder) => writeNodeRoot(folder, tag.replace(/-.*/, "")),
  );
  return image;
}

/** Builds an image unless its archive is there. @returns that file */
export async function once(
  image: string,
  report: Report,
  build: () => Promise<void>,
  file = archiveOf(image),
): Promise<string> {
  if (existsSync(file)) return file;
  report(`making ${image}`);
  await build();
  await archive(image, file);
  return file;
}

/** Where an image that only some nodes import is kept. */
export const ownArchiveOf = (image: string): string =>
  join(archivesFolder(), "applications", basename(archiveOf(image)));

const archiveOf = (image: string): string =>
  join(archivesFolder(), `${image.replace(/^.*\//, "").replace(/:.*/, "")}.tar`);

async function archive(image: string, file = archiveOf(image)): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const made = `${file}.new`;
  await rm(made, { force: true });
  await buildah("push", "--disable-compression", image, `docker-archive:${made}:${image}`);
  await rename(made, file);
}
