import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    reporters: ["default", "./test/reporter.ts"],
    pool: "forks",
    testTimeout: 20_000,
    hookTimeout: 30_000,
    restoreMocks: true,
  },
});
