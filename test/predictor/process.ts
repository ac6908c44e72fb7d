/** A real predictor as a process of its own, for tests that kill it: `node process.ts predictor --config …`. */
import { Command } from "commander";
import { configure } from "@tradewind/predictor/command.ts";

const program = new Command();
configure(program.command("predictor"));
await program.parseAsync();
