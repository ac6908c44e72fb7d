import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startAgent } from "@tradewind/agent/agent.ts";
import { startExporter } from "@tradewind/exporter/exporter.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { optionsOn } from "../../agent/agent-options.ts";
import { nodeFiles, QUIET_NODE } from "../../agent/tree/node.ts";
import { Tree } from "../../agent/tree/plant.ts";

const FREE = "127.0.0.1:0";

/** An address that somebody else listens on until the test ends. */
async function takenAddress(): Promise<string> {
  const squatter = createServer().listen(0, "127.0.0.1");
  await once(squatter, "listening");
  onTestFinished(() => void squatter.close());
  return `127.0.0.1:${(squatter.address() as AddressInfo).port}`;
}

async function applicationFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tradewind-listen-"));
  onTestFinished(async () => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "app.yaml");
  await writeFile(path, "entry: web\nobjective: { milliseconds: 100 }\n");
  return path;
}

describe("an address that is taken", () => {
  it("ends the agent with the code cannot-listen", async () => {
    using tree = new Tree();
    tree.plant(nodeFiles(QUIET_NODE));
    const starting = startAgent(optionsOn(tree, { listen: await takenAddress() }));
    await expect(starting).rejects.toMatchObject({ code: "cannot-listen" });
  });

  it.each(["listen", "otlpListen", "otlpGrpcListen"])(
    "ends the predictor (%s) with the same code",
    async (which) => {
      const starting = startPredictor({
        config: await applicationFile(),
        listen: FREE,
        otlpListen: FREE,
        logLevel: "silent",
        [which]: await takenAddress(),
      });
      await expect(starting).rejects.toMatchObject({ code: "cannot-listen" });
    },
  );

  it.each(["listen", "grpcListen"])("ends the exporter (%s) with the same code", async (which) => {
    const options = {
      listen: FREE,
      grpcListen: FREE,
      logLevel: "silent",
      [which]: await takenAddress(),
    } as const;
    await expect(startExporter(options)).rejects.toMatchObject({ code: "cannot-listen" });
  });
});
