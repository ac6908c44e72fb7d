import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WorkloadsFile } from "@tradewind/agent/names/workloads-file.ts";
import { Window } from "@tradewind/core/contract/window.ts";
import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { decideWish } from "../../exporter/decide-wish.ts";
import { StateFile as DecisionsFile } from "@tradewind/exporter/keep/state-file.ts";
import { readKubeconfig } from "@tradewind/kubernetes/client/kubeconfig.ts";
import { openSweepFile } from "@tradewind/local/profile/sweep-file.ts";
import { parseTrace } from "@tradewind/local/load/trace.ts";
import { readApplication } from "@tradewind/kubernetes/application/file.ts";
import { emptyState } from "@tradewind/predictor/decide/state.ts";
import { readSections } from "@tradewind/predictor/sources/sources-config.ts";
import {
  POLICY_STATE as POLICY_KIND,
  StateFile as PolicyFile,
} from "@tradewind/predictor/run/application/state-file.ts";
import { openMemory } from "@tradewind/predictor/store/database.ts";
import { pack, unpack } from "@tradewind/predictor/store/packing.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { NO_LIMITS, wishOf } from "../../exporter/wish.ts";
import { silentLog } from "../../kubernetes/silent-log.ts";
import { aSet } from "../../predictor/store/windows-of.ts";
import { ByteMutator } from "../engine/bytes.ts";
import {
  attempt,
  attemptAsync,
  documented,
  expect,
  expectEqual,
  expectNumbers,
  jsonText,
  never,
} from "../engine/oracle.ts";
import type { Target } from "../engine/target.ts";
import { textTarget, valueTarget } from "./kinds.ts";

const isTradewindError = (error: unknown): boolean => error instanceof TradewindError;

/** A target whose input is the content of a file, alone in a directory of its own. */
function fileTarget(
  name: string,
  file: string,
  mutator: Pick<ByteMutator, "make">,
  run: (path: string, directory: string) => Promise<void>,
): Target {
  let directory = "";
  return {
    name: `file/${name}`,
    kind: "slow",
    make: (rng) => mutator.make(rng),
    open: async () => {
      directory = await mkdtemp(join(tmpdir(), "tradewind-fuzz-"));
    },
    run: async (input) => {
      const path = join(directory, file);
      await writeFile(path, input as Uint8Array);
      await run(path, directory);
      const others = (await readdir(directory)).filter((each) => each !== file);
      for (const each of others) await rm(join(directory, each));
    },
    close: async () => rm(directory, { recursive: true, force: true }),
  };
}

const APPLICATION = `name: shop
entry: frontend
objective: { milliseconds: 250, percentile: 0.95 }
services:
  - name: geo
    minReplicas: 2
    cpu: { minCores: 0.1, maxCores: 4 }
sources:
  prometheus: [{ url: "http://prometheus:9090" }]
store: { maxBytes: 1000000000 }
`;
const YAML_WORDS = [
  "&a ",
  "*a",
  "<<: ",
  "- ",
  ": ",
  "|\n",
  "!!float .inf",
  ".nan",
  "!!binary ",
  "? ",
  "---\n",
  "{",
  "}",
  "\t",
];

const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: a
clusters: [{ name: c, cluster: { server: "https://127.0.0.1:6443", certificate-authority-data: QQ== } }]
contexts: [{ name: a, context: { cluster: c, user: u, namespace: shop } }]
users: [{ name: u, user: { token: t } }]
`;

const PLANNED = { application: "hotel", sequence: 1, predictorStartedAtMs: 0, plannedAtMs: 1_000_000 };
const RULES = {
  limitsOf: () => NO_LIMITS,
  exporterStartedAtMs: 0,
  staleAfterSeconds: 300,
  restartGraceSeconds: 0,
};
const DECIDED = decideWish(wishOf(), PLANNED, { exporterStartedAtMs: 0 }, RULES);
const DECISIONS = JSON.stringify({
  schema: "tradewind.dev/exporter-state/v1",
  savedAtMs: 1,
  decisions: "record" in DECIDED ? [DECIDED.record, DECIDED.record] : [],
});

const POLICY_STATE = JSON.stringify({
  ...emptyState("shop", "shop"),
  windowEndMs: 1,
  services: [{ service: "geo", replicas: 3, seenAtMs: 1 }],
});

const WORKLOADS = JSON.stringify({
  schema: WORKLOADS_SCHEMA,
  observedAtMs: 1,
  workloads: [
    {
      namespace: "shop",
      kind: "Deployment",
      name: "geo",
      service: "geo",
      replicasWanted: 1,
      replicasReady: 1,
      pods: [
        {
          uid: "u",
          name: "geo-1",
          node: "node-1",
          ready: true,
          containers: [{ id: "c", name: "main", pid: 3 }],
        },
      ],
    },
  ],
});

/** A small store of windows, made once. */
function storedHistory(): Buffer {
  const path = join(tmpdir(), `tradewind-fuzz-seed-${process.pid}.sqlite`);
  const tables = openMemory();
  tables.transaction(() => {
    for (let at = 0; at < 40; at += 1) {
      const set = aSet(at * 15_000, ["cart", "stock"]);
      for (const window of set.windows) tables.putWindow(window, "live");
    }
  });
  tables.database.exec(`VACUUM INTO '${path}'`);
  tables.database.close();
  const bytes = readFileSync(path);
  rmSync(path, { force: true });
  return bytes;
}

/** Opens a damaged store, reads and writes; what comes back are windows. */
async function useStore(path: string): Promise<void> {
  const store = attempt(
    () => new SqliteStore({ path, log: silentLog }),
    documented("newer-store", "foreign-store"),
  );
  if (store === undefined) return;
  const windows =
    attempt(() => [...store.windows({ fromMs: 0, toMs: Number.MAX_SAFE_INTEGER })], never) ?? [];
  for (const window of windows)
    expect(Window.safeParse(window).success, "contract", () => "a window that is none");
  attempt(() => store.append(aSet(15_000_000, ["cart"])), never);
  await attemptAsync(async () => store.close(), never);
}

const HISTORY = storedHistory();
const DATABASES = new ByteMutator([HISTORY], ["SQLite format 3\u0000"], HISTORY.length + 8_192);

const WINDOW = aSet(0, ["cart"]).windows[0];

export const FILE_TARGETS: readonly Target[] = [
  fileTarget("application", "app.yaml", new ByteMutator([APPLICATION], YAML_WORDS, 16_384), async (path) => {
    expectNumbers(
      await attemptAsync(async () => readApplication(path), documented("invalid-config", "invalid-input")),
    );
    expectNumbers(
      await attemptAsync(async () => readSections(path), documented("invalid-config", "invalid-input")),
    );
  }),
  fileTarget(
    "decisions",
    "decisions.json",
    new ByteMutator([DECISIONS], ["null", "[]", "1e999"]),
    async (path, directory) => {
      const loaded = await attemptAsync(async () => new DecisionsFile(directory).load(0), never);
      expect(loaded?.kind !== "absent", "lost", () => `${path} is taken for absent`);
      if (loaded?.kind !== "read") return;
      for (const { final } of loaded.decisions) expectNumbers(final);
    },
  ),
  fileTarget("history", "history.sqlite", DATABASES, useStore),
  fileTarget("kubeconfig", "config", new ByteMutator([KUBECONFIG], YAML_WORDS, 16_384), async (path) => {
    attempt(() => readKubeconfig(path, undefined), documented("invalid-kubeconfig"));
  }),
  fileTarget(
    "policy-state",
    "predictor-state.json",
    new ByteMutator([POLICY_STATE], ["null", "{}"]),
    async (_path, directory) => {
      const file = new PolicyFile(directory, POLICY_KIND, silentLog, () => undefined);
      const state = await attemptAsync(async () => file.read("shop", "shop", 0), never);
      expectNumbers(state);
    },
  ),
  fileTarget(
    "sweep",
    "sweep.jsonl",
    new ByteMutator([`{"schema":"tradewind.dev/sweep/v1"}\n`, ""], ["\n"]),
    async (path) => {
      await attemptAsync(async () => openSweepFile(path, true), isTradewindError);
    },
  ),
  fileTarget(
    "workloads",
    "workloads.json",
    new ByteMutator([WORKLOADS], ["null", "[]", '"pid":-1']),
    async (path) => {
      await attemptAsync(
        async () => new WorkloadsFile(path, "node-1").poll(),
        documented("invalid-json", "invalid-input"),
      );
    },
  ),
  textTarget("file/load-trace", ["# rates\n10\n20.5\n\n30\r\n"], (text) => {
    expectNumbers(attempt(() => parseTrace(text, "the trace"), documented("invalid-load")));
  }),
  packing(),
];

/** What was packed is unpacked; what was changed since is found out. */
function packing(): Target {
  return valueTarget("file/packing", [WINDOW], (value) => {
    const text = jsonText(value);
    if (text === undefined) return;
    const packed = attempt(() => pack(value), never);
    if (packed === undefined) return;
    expectEqual(unpack(packed.body, packed.checksum), JSON.parse(text), "round-trip");
    const at = packed.body.length >> 1;
    packed.body[at] = (packed.body[at] ?? 0) ^ 1;
    expectEqual(unpack(packed.body, packed.checksum), undefined, "checksum");
  });
}
