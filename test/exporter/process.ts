/** A real exporter as a process of its own, for tests that kill it: `node process.ts exporter --listen …`. */
import { Command } from "commander";
import { configure } from "@tradewind/exporter/command.ts";

const program = new Command();
configure(program.command("exporter"));
await program.parseAsync();
