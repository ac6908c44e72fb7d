import { configure as configureStudents } from "@tradewind/simulator/command/train-students.ts";
import { configure as configureTeacher } from "@tradewind/simulator/command/train-teacher.ts";
import { Command } from "commander";
import { describe, expect, it } from "vitest";

const run = async (configure: (command: Command) => void, ...flags: string[]): Promise<unknown> => {
  const command = new Command().exitOverride();
  configure(command);
  return command.parseAsync(flags, { from: "user" });
};

describe("the flags of a training", () => {
  it.each([
    ["--episodes", "many"],
    ["--seed", "-1"],
    ["--batch", "0"],
    ["--layers", "400,"],
    ["--held-out", "1e3"],
    ["--minutes", ""],
  ])("of a teacher refuse %s %s before anything is trained", async (flag, value) => {
    await expect(run(configureTeacher, `${flag}=${value}`)).rejects.toMatchObject({ code: "invalid-input" });
  });

  it.each([
    ["--plants", "0"],
    ["--epochs", "NaN"],
    ["--rounds", "2.5"],
    ["--seed", "9999999999"],
  ])("of students refuse %s %s before anything is trained", async (flag, value) => {
    await expect(run(configureStudents, `${flag}=${value}`)).rejects.toMatchObject({ code: "invalid-input" });
  });

  it("refuse a buffer that holds no batch", async () => {
    await expect(run(configureTeacher, "--buffer=10", "--batch=11")).rejects.toThrow("--buffer must hold");
  });
});
