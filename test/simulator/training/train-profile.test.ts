import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { emptyNetworkAnswer } from "@tradewind/predictor/models/network/head.ts";
import { LatencyNetwork } from "@tradewind/predictor/models/network/latency-network.ts";
import { QUANTILES, WINDOW_INPUTS } from "@tradewind/predictor/models/network/shape.ts";
import { anchorOf, TIME } from "@tradewind/predictor/models/network/window-inputs.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { configure } from "@tradewind/simulator/command/train-profile.ts";
import { startEngine } from "@tradewind/simulator/teacher/td3/engine.ts";
import type { Tensors } from "@tradewind/simulator/teacher/td3/engine.ts";
import { ServiceCourse } from "@tradewind/simulator/training/course.ts";
import { lessonBatch, quantilesOf, weightTensors } from "@tradewind/simulator/training/graph.ts";
import {
  ASK,
  ASKS,
  drawLesson,
  LESSON,
  QUESTION,
  QUESTIONS,
  WINDOWS,
} from "@tradewind/simulator/training/lesson.ts";
import { drawPlan } from "@tradewind/simulator/training/prior.ts";
import { judgeProfile, newTraining, trainStep } from "@tradewind/simulator/training/train-profile.ts";
import type { ProfileTraining } from "@tradewind/simulator/training/train-profile.ts";
import { hashOf, trainingOf, trainingText } from "@tradewind/simulator/training/training-file.ts";

let tensors: Tensors;
beforeAll(async () => {
  ({ tensors } = await startEngine("wasm"));
});

function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "tradewind-profile-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

async function run(...flags: string[]): Promise<string> {
  const written: string[] = [];
  const spy = vi.spyOn(process.stdout, "write").mockImplementation((text) => written.push(String(text)) > 0);
  const command = new Command().exitOverride();
  configure(command);
  await command.parseAsync(flags, { from: "user" });
  spy.mockRestore();
  return written.join("");
}

describe("the training of the latency network", () => {
  it("draws the same service for one seed, all of it finite, and most of its questions with an answer", () => {
    const lessons = [1, 2, 3, 4, 5, 6].map(drawLesson);
    expect(drawLesson(3)).toEqual(lessons[2]);
    expect(lessons.every((lesson) => lesson.length === LESSON && lesson.every(Number.isFinite))).toBe(true);
    const weights = lessons.flatMap((lesson) =>
      Array.from({ length: ASKS * QUESTIONS }, (_, i) => lesson[LESSON - 1 - i * QUESTION] ?? 0),
    );
    expect(weights.filter((weight) => weight > 0).length).toBeGreaterThan(0.5 * weights.length);
  });

  it("answers in TensorFlow.js what the product answers by closed form", () => {
    const { values } = newTraining(4);
    const network = new LatencyNetwork(Float64Array.from(values));
    const seed = 12;
    const lesson = drawLesson(seed);
    const rng = seededRng(seed);
    const course = new ServiceCourse(drawPlan(rng), seed);
    const windows = Array.from({ length: WINDOWS }, () => course.next());
    const said = tensors.tidy(() =>
      quantilesOf(
        tensors,
        weightTensors(tensors, values),
        lessonBatch(tensors, [lesson, drawLesson(1), lesson]),
      ).dataSync(),
    );
    const answer = emptyNetworkAnswer();
    let compared = 0;
    for (let ask = 0; ask < ASKS; ask += 1) {
      const last = lesson[WINDOWS * WINDOW_INPUTS + ask * ASK] ?? 0;
      const state = windows
        .slice(0, last + 1)
        .reduce((before, { window }) => network.after(before, window), network.empty());
      if (!network.isReady(state)) continue;
      // The first question of a moment is the next window as it was measured.
      const { observation, surroundings } = windows[last + 1]?.window ?? {};
      const { cpuCores, loadPerContainer = 0 } = observation ?? {};
      network.at(
        state,
        { cpuCores, loadPerContainer, interference: surroundings?.interference ?? [] },
        answer,
      );
      const isAsked = (lesson[LESSON - (ASKS - ask) * QUESTIONS * QUESTION + QUESTION - 1] ?? 0) > 0;
      if (!isAsked) continue;
      for (const copy of [0, 2]) {
        const from = (copy * ASKS + ask) * QUESTIONS * QUANTILES.length;
        const graph = said.subarray(from, from + QUANTILES.length);
        const closed = answer.logs.map((each) => each - anchorOf(state.anchors, TIME));
        for (const [q, each] of graph.entries()) expect(each).toBeCloseTo(closed[q] ?? Number.NaN, 3);
        compared += 1;
      }
    }
    expect(compared).toBeGreaterThan(4);
  });

  it("learns: on services that it never saw it comes nearer than the queueing curve to the ratio of two places", () => {
    const lessons = Array.from({ length: 160 }, (_, i) => drawLesson(50_000 + i));
    const heldOut = Array.from({ length: 40 }, (_, i) => drawLesson(90_000 + i));
    const training = newTraining(2);
    const before = judgeProfile(tensors, training.averaged, heldOut);
    const schedule = { steps: 120, batch: 16, seed: 2 };
    while (training.steps < schedule.steps) trainStep(tensors, training, lessons, schedule);
    const after = judgeProfile(tensors, training.averaged, heldOut);
    expect(after.loss).toBeLessThan(0.8 * before.loss);
    expect(after.places.network).toBeLessThan(0.8 * before.places.network);
    expect(after.ratios.network).toBeLessThan(after.ratios.curve);
  });

  it("comes to the same weights when it is interrupted and goes on from its file", () => {
    const lessons = [1, 2, 3].map(drawLesson);
    const settings = { seed: 3, services: 3, batch: 2, steps: 4 };
    const trained = (training: ProfileTraining, until: number): ProfileTraining => {
      while (training.steps < until) trainStep(tensors, training, lessons, settings);
      return training;
    };
    const whole = trained(newTraining(3), 4);
    const text = trainingText(settings, trained(newTraining(3), 2));
    const resumed = trained(trainingOf(text, "training.txt", settings), 4);
    expect(hashOf(resumed.averaged)).toBe(hashOf(whole.averaged));
    expect(resumed.values).toEqual(whole.values);
    expect(() => trainingOf(text, "training.txt", { ...settings, steps: 5 })).toThrow(
      "training.txt is of another training, with steps 4",
    );
    expect(() => trainingOf(text.slice(0, -9), "training.txt", settings)).toThrow(
      "training.txt is not whole",
    );
  });
});

describe("tradewind lab train-profile", () => {
  it("keeps services and training in its directory, and writes a module with weights and how they came about", async () => {
    const state = scratchDirectory();
    const out = join(state, "shipped-network.ts");
    const flags = [
      "--services=6",
      "--batch=2",
      "--steps=2",
      "--held-out=2",
      "--engine=wasm",
      "--json",
      `--state=${state}`,
    ];
    const first = JSON.parse(await run(...flags)) as { hash: string };
    const again = JSON.parse(await run(...flags, `--out=${out}`)) as {
      hash: string;
      heldOut: { services: number };
    };
    expect(again.hash).toBe(first.hash);
    expect(again.heldOut.services).toBe(2);
    expect(readFileSync(out, "utf8")).toContain(first.hash);
    expect(statSync(join(state, "services-1.f32")).size).toBe(6 * 4 * LESSON);
  });

  it.each([
    ["--services", "0"],
    ["--steps", "1e3"],
    ["--seed", "801"],
    ["--batch", "-1"],
  ])("refuses %s %s before anything is trained", async (flag, value) => {
    await expect(run(`${flag}=${value}`)).rejects.toMatchObject({ code: "invalid-input" });
  });
});
