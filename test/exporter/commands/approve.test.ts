import { Command } from "commander";
import { expect, it, vi } from "vitest";
import { configure } from "@tradewind/exporter/commands/approve.ts";

vi.mock("node:os", async (original) => ({
  ...(await original<object>()),
  userInfo: () => {
    throw new Error("A system error occurred: uv_os_get_passwd returned ENOENT (no such file or directory)");
  },
}));

it("tradewind approve runs as a user without an entry in /etc/passwd, as in a container", () => {
  vi.stubEnv("USER", undefined);
  const command = new Command("approve");
  configure(command);
  expect(command.getOptionValue("by")).toBe("unknown");
  vi.unstubAllEnvs();
});
