import { describe, expect, it } from "vitest";
import {
  STUDENT_PARAMETERS,
  studentParameters,
  Students,
  STUDENTS_SCHEMA,
  studentText,
} from "@tradewind/core/contract/students.ts";
import { AT, Student, UNITS } from "@tradewind/core/students/student.ts";

const zeros = (): Float64Array => new Float64Array(STUDENT_PARAMETERS);

describe("a student", () => {
  it("has 643 parameters: 5-20-20-3 and LayerNorm, as published", () => {
    expect(5 * 20 + 20 + 2 * 20 + (20 * 20 + 20) + (20 * 3 + 3)).toBe(STUDENT_PARAMETERS);
    expect(AT.lastBias + 3).toBe(STUDENT_PARAMETERS);
    expect(() => new Student(new Float64Array(642))).toThrow(RangeError);
  });

  it("gives tanh of its last biases where all weights are 0", () => {
    const p = zeros();
    p.set([0.5, -1, 0], AT.lastBias);
    expect(new Student(p).act([1, 2, 3, 4, 0])).toEqual({
      cpu: Math.tanh(0.5),
      memory: Math.tanh(-1),
      replicas: 0,
    });
  });

  it("normalises the first layer: half of the units at 3 and half at 1 come out as 1 and -1, and ReLU keeps the former", () => {
    const p = zeros();
    for (let unit = 0; unit < UNITS; unit += 1) p[AT.firstBias + unit] = unit < 10 ? 3 : 1;
    p.fill(1, AT.scale, AT.shift);
    // Unit 0 of the second layer adds up units 0 and 19 of the first: 1 and 0.
    p[AT.second] = 1;
    p[AT.second + 19] = 1;
    p[AT.last + 2 * UNITS] = 0.25;
    const { cpu, replicas } = new Student(p).act([0, 0, 0, 0, 0]);
    expect(replicas).toBeCloseTo(Math.tanh(0.25 / Math.sqrt(1 + 1e-5)), 12);
    expect(cpu).toBe(0);
  });

  it("travels as 32-bit floats in base64, and is refused where a number is missing or not finite", () => {
    const p = zeros().map((_, i) => Math.fround(Math.sin(i)));
    const text = studentText(p);
    expect(studentParameters(text)).toEqual(p);
    const students = (general: string) => ({ schema: STUDENTS_SCHEMA, about: "a test", general });
    expect(Students.safeParse(students(text)).success).toBe(true);
    expect(Students.safeParse(students(text.slice(0, -8))).success).toBe(false);
    p[3] = Number.NaN;
    expect(Students.safeParse(students(studentText(p))).success).toBe(false);
  });
});
