import { Command, CommanderError } from "commander";
import { targetProblem } from "@tradewind/core/net/addresses.ts";
import { parseRetryAfterMs } from "@tradewind/core/process/retry-delay.ts";
import { formatBytes, parseDurationSeconds } from "@tradewind/core/values/units.ts";
import { negotiate } from "@tradewind/agent/expose/format.ts";
import { COMMANDS } from "../../../cli/commands.ts";
import { formatListen, parseListen } from "@tradewind/predictor/sources/otlp/listen-address.ts";
import { pick } from "../engine/draw.ts";
import {
  attempt,
  attemptAsync,
  documented,
  expect,
  expectEqual,
  expectNumbers,
  never,
} from "../engine/oracle.ts";
import type { Target } from "../engine/target.ts";
import { textTarget } from "./kinds.ts";

const isRangeError = (error: unknown): boolean => error instanceof RangeError;

const WORDS = [
  "--listen",
  "--node",
  "--link-speed",
  "eth0=1e9",
  "--cost-budget",
  "--predictor",
  "http://a:1,dns+http://b:2",
  "--stale-after",
  "5m",
  "--config",
  "app.yaml",
  "--window",
  "15s",
  "--agents",
  "127.0.0.1:0",
  "--",
  "-",
  "--=",
  "--no-inventory",
  "--for",
  "--seed",
  "-1",
  "1e999",
  "",
  "\u0000",
  "名",
  "--log-level",
  "debug",
  "x".repeat(5_000),
];

/** Arguments of every command, read as the command line reads them; the action itself is not begun. */
function commandLine(): Target {
  return {
    name: "command-line/arguments",
    kind: "slow",
    make: (rng) => {
      const words = Array.from({ length: Math.floor(rng() * 8) }, () => pick(rng, WORDS));
      return [pick(rng, COMMANDS).name, ...words];
    },
    run: async (input) => {
      const [name, ...words] = input as string[];
      const entry = COMMANDS.find((each) => each.name === name);
      if (entry === undefined) return;
      const program = new Command("tradewind")
        .enablePositionalOptions()
        .exitOverride()
        .configureOutput({ writeOut: quiet, writeErr: quiet });
      const command = program
        .command(entry.name)
        .exitOverride()
        .configureOutput({ writeOut: quiet, writeErr: quiet });
      (await entry.load()).configure(command);
      command.action(() => undefined);
      const isDocumented = (error: unknown): boolean => error instanceof CommanderError;
      await attemptAsync(
        async () => program.parseAsync([entry.name, ...words], { from: "user" }),
        isDocumented,
      );
    },
  };
}
const quiet = (): void => undefined;

export const TEXT_TARGETS: readonly Target[] = [
  commandLine(),
  textTarget("text/accept", ["text/plain;q=0.5, application/openmetrics-text; version=1.0.0"], (text) => {
    attempt(() => negotiate(text), never);
  }),
  textTarget(
    "text/addresses",
    ["http://127.0.0.1:4318", "dns+http://peers.ns.svc:4318", "https://[::1]:1", "[::1]:4318", "localhost:0"],
    (text) => {
      attempt(() => targetProblem(text), never);
      const listen = attempt(() => parseListen(text), documented("invalid-address"));
      if (listen !== undefined) expectEqual(parseListen(formatListen(listen)), listen, "round-trip");
    },
    { words: ["dns+", "http://", "[", "]", ":", "@", "%", "//"] },
  ),
  textTarget("text/durations", ["150s", "2m", "500ms", "1h", "0.5"], (text) => {
    const seconds = attempt(() => parseDurationSeconds(text), isRangeError);
    expectNumbers([seconds]);
    if (seconds !== undefined) attempt(() => formatBytes(seconds), never);
  }),
  textTarget("text/retry-after", ["120", "Wed, 21 Oct 2026 07:28:00 GMT"], (text) => {
    const ms = attempt(() => parseRetryAfterMs(text, 1_750_000_000_000), never);
    expect(ms === undefined || (Number.isFinite(ms) && ms >= 0), "number", () => `wait ${ms} ms`);
  }),
];
