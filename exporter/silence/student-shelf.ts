import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { readJsonWith } from "@tradewind/core/values/config.ts";
import { studentParameters, Students } from "@tradewind/core/contract/students.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { replaceState } from "@tradewind/core/process/state-file.ts";
import type { NamedStudent } from "./decide-service.ts";
import { Student } from "@tradewind/core/students/student.ts";

const STUDENTS_FILE = "students.json";
/** Models kept; applications of one installation seldom have more than one each. */
const MOST_MODELS = 100;

const Kept = z.strictObject({
  schema: z.literal("tradewind.dev/kept-students/v1"),
  /** By application, `namespace/name`. */
  models: z.record(z.string().max(600), z.unknown()),
});

interface Model {
  readonly hash: string;
  readonly students: Students;
  readonly made: Map<string, Student>;
}

/**
 * The students that plans have named, by application. Fetched once for each hash, from the predictor that named it, and kept on disk, so
 * that an exporter that starts again while no predictor answers has them.
 */
export class StudentShelf {
  private readonly directory: string | undefined;
  private readonly log: Logger;
  private readonly models = new Map<string, Model>();

  /** @param directory where they are kept; absent: in memory only */
  constructor(directory: string | undefined, log: Logger) {
    this.directory = directory;
    this.log = log;
  }

  /** Reads them back. Never rejects: without them the reactive need decides. */
  async restore(): Promise<void> {
    if (this.directory === undefined) return;
    try {
      const text = await readFile(join(this.directory, STUDENTS_FILE), "utf8");
      for (const [application, students] of Object.entries(readJsonWith(Kept, text, STUDENTS_FILE).models)) {
        this.put(application, Students.parse(students));
      }
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return;
      this.log.warn(
        { problem: describeError(error) },
        "the students on disk cannot be read; they are fetched again",
      );
    }
  }

  has(application: string, hash: string): boolean {
    return this.models.get(application)?.hash === hash;
  }

  /** @throws TradewindError `invalid-model` when the text is not the model of that name */
  async keep(application: string, hash: string, text: string): Promise<void> {
    const students = readJsonWith(Students, text, `the students of ${application}`);
    if (contentHash(students) !== hash) {
      throw new TradewindError(
        "invalid-model",
        `the students of ${application} are not those that the plan names (${hash})`,
      );
    }
    this.put(application, students);
    if (this.directory === undefined) return;
    const models = Object.fromEntries([...this.models].map(([name, model]) => [name, model.students]));
    const kept = { schema: "tradewind.dev/kept-students/v1", models } satisfies z.infer<typeof Kept>;
    try {
      await replaceState(join(this.directory, STUDENTS_FILE), JSON.stringify(kept));
    } catch (error) {
      this.log.warn({ problem: describeError(error) }, "students are kept in memory only");
    }
  }

  /** Of one service: its own, else the general one. */
  find(application: string, service: string): NamedStudent | undefined {
    const model = this.models.get(application);
    if (model === undefined) return undefined;
    const { hash, made, students } = model;
    const own = students.services?.[service];
    const key = own === undefined ? "" : service;
    let student = made.get(key);
    if (student === undefined) {
      student = new Student(studentParameters(own ?? students.general));
      made.set(key, student);
    }
    return { student, modelHash: hash };
  }

  private put(application: string, students: Students): void {
    this.models.delete(application);
    this.models.set(application, { hash: contentHash(students), students, made: new Map() });
    for (const oldest of this.models.keys()) {
      if (this.models.size <= MOST_MODELS) break;
      this.models.delete(oldest);
    }
  }
}
