import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { configurationOfText } from "@tradewind/kubernetes/application/file.ts";
import { diurnalWeek } from "@tradewind/simulator/course/obstacles/diurnal-week.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import { tradewind } from "../../cli/tradewind.ts";
import { installed } from "../../installed.ts";
import { startPrometheus } from "../../predictor/sources/prometheus/metric-servers.ts";
import { push } from "../../predictor/sources/prometheus/remote-write.ts";
import { stretched, windowsOf } from "./recorded-week.ts";
import { byHour, FAMILIES, recordedSeries } from "./series.ts";

const MINUTE_MS = 60_000;
const prometheus = installed("prometheus");

/** Three hours of the shop, an hour per quarter that was simulated, up to now. */
let sets: readonly WindowSet[];
let folder: string;
beforeAll(async () => {
  const simulated = await windowsOf(obstacleOf(diurnalWeek(300)), 41);
  const endMs = Math.floor(Date.now() / (5 * MINUTE_MS)) * 5 * MINUTE_MS;
  sets = stretched(simulated, MINUTE_MS, endMs);
  folder = mkdtempSync(join(tmpdir(), "tradewind-try-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("tradewind try on a real Prometheus", () => {
  it.skipIf(prometheus === undefined).each(Object.keys(FAMILIES))(
    "finds the shop by %s metrics, says what would have happened, and writes what to apply",
    async (family) => {
      const server = await startPrometheus(prometheus ?? "");
      const output = join(folder, family);
      try {
        for (const part of byHour(recordedSeries(sets, FAMILIES[family]!, "front"), sets))
          await push(server.url, part);
        await server.settled();
        const words = `try --prometheus ${server.url} --namespace shop --from 4h --output ${output} --json`;
        const { code, stderr, stdout } = await tradewind(...words.split(" "));
        expect({ code, stderr }).toMatchObject({ code: 0 });
        const answer = JSON.parse(stdout) as {
          entry: string;
          source: string;
          services: string[];
          objectiveFrom: string;
          report?: { policies: { policy: string; range: unknown[] }[]; routes: unknown[] };
        };
        expect(answer).toMatchObject({ entry: "front", objectiveFrom: "measured" });
        expect(answer.source).toContain(family);
        expect(answer.services).toContain("search");
        expect(answer.report?.policies.map(({ policy, range }) => [policy, range.length])).toEqual([
          ["hpa-cpu", 2],
          ["tradewind-auto", 2],
        ]);
        expect(answer.report?.routes).toHaveLength(1);
        const page = readFileSync(join(output, "index.html"), "utf8");
        expect(page).not.toMatch(/<script|https?:\/\/(?!127\.0\.0\.1)[a-z]/);
        const text = readFileSync(join(output, "1-observe", "application.yaml"), "utf8");
        expect(configurationOfText(text, "application.yaml")).toMatchObject({ entry: "front" });
        const back = parseAllDocuments(
          readFileSync(join(output, "back", "horizontal-pod-autoscalers.yaml"), "utf8"),
        ).map((document) => document.toJS() as { spec: object });
        expect(back).toHaveLength(6);
        expect(back[0]!.spec).toMatchObject({
          maxReplicas: 60,
          metrics: [{ type: "Resource", resource: { name: "cpu", target: { averageUtilization: 60 } } }],
        });
      } finally {
        await server.stop();
      }
    },
  );
});
