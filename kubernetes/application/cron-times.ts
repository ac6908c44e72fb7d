import { CronPattern } from "croner";

export const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const HOUR_MINUTES = 60;
/** The calendar comes back after 400 years; a pattern that does not happen until then never does. */
const LATEST_YEAR = 3_000;
/** Longer ago than any pattern pauses: 29 February comes on one weekday every 28 years, or 40 across 2100. */
const LONGEST_PAUSE_YEARS = 100;
const MONTHS = 12;
/** `dayOfWeek` of a pattern: a bit for each of the first five of a month, and one for the last. */
const LAST_OF_MONTH = 32;

/** Days are numbered since 1970-01-01, times are of a clock that is never put forward. */
export class CronTimes {
  /** Of a day, in ms after its beginning, rising. */
  readonly timesMs: readonly number[];
  /** There is one time of the day, without a `*` or a step: where clocks skip it, it happens when they have been put forward. */
  readonly isFixed: boolean;
  readonly #months: readonly number[];
  readonly #monthDays: MonthDays;

  /** @throws Error of the cron library that says what it cannot read */
  constructor(text: string) {
    const pattern = new CronPattern(text, undefined, { mode: "5-part" });
    const hours = setIn(pattern.hour);
    const minutes = setIn(pattern.minute);
    this.timesMs = hours.flatMap((hour) =>
      minutes.map((minute) => (hour * HOUR_MINUTES + minute) * MINUTE_MS),
    );
    this.isFixed = pattern.isFixedTime;
    // The pattern itself holds a list of 10,000 years.
    this.#months = pattern.month;
    this.#monthDays = new MonthDays(pattern);
  }

  /** The first day of the pattern that is not before this one. */
  dayFrom(day: number): number | undefined {
    const date = new Date(day * DAY_MS);
    let year = date.getUTCFullYear();
    let bits = -1 << (date.getUTCDate() - 1);
    for (let month = date.getUTCMonth(); year < LATEST_YEAR; month += 1, bits = -1) {
      if (month === MONTHS) [year, month] = [year + 1, 0];
      if (this.#months[month] !== 1) continue;
      const first = firstOf(year, month);
      const days = this.#daysOf(year, month, first) & bits;
      if (days !== 0) return first + (31 - Math.clz32(days & -days));
    }
    return undefined;
  }

  /** The last day of the pattern that is not after this one. */
  dayUntil(day: number): number | undefined {
    const date = new Date(day * DAY_MS);
    let year = date.getUTCFullYear();
    const earliestYear = year - LONGEST_PAUSE_YEARS;
    let bits = 2 ** date.getUTCDate() - 1;
    for (let month = date.getUTCMonth(); year > earliestYear; month -= 1, bits = -1) {
      if (month < 0) [year, month] = [year - 1, MONTHS - 1];
      if (this.#months[month] !== 1) continue;
      const first = firstOf(year, month);
      const days = this.#daysOf(year, month, first) & bits;
      if (days !== 0) return first + (31 - Math.clz32(days));
    }
    return undefined;
  }

  #daysOf(year: number, month: number, first: number): number {
    const length = firstOf(year, month + 1) - first;
    // 1970-01-01 was a Thursday.
    return this.#monthDays.bits((((first + 4) % 7) + 7) % 7, length);
  }
}

const firstOf = (year: number, month: number): number => Date.UTC(year, month, 1) / DAY_MS;

/** Which days of a month a pattern has: bit 0 is the first. It follows from the weekday that the month begins with and its length. */
class MonthDays {
  readonly #known = new Map<number, number>();
  readonly #fields: Pick<
    CronPattern,
    | "day"
    | "dayOfWeek"
    | "lastDayOfMonth"
    | "lastWeekday"
    | "nearestWeekdays"
    | "starDOM"
    | "starDOW"
    | "useAndLogic"
  >;

  constructor(pattern: CronPattern) {
    const { day, dayOfWeek, lastDayOfMonth, lastWeekday } = pattern;
    const { nearestWeekdays, starDOM, starDOW, useAndLogic } = pattern;
    this.#fields = {
      day,
      dayOfWeek,
      lastDayOfMonth,
      lastWeekday,
      nearestWeekdays,
      starDOM,
      starDOW,
      useAndLogic,
    };
  }

  bits(firstWeekday: number, length: number): number {
    const key = firstWeekday * 32 + length;
    let bits = this.#known.get(key);
    if (bits !== undefined) return bits;
    bits = 0;
    for (let day = 1; day <= length; day += 1) {
      if (this.#has(day, firstWeekday, length)) bits |= 1 << (day - 1);
    }
    this.#known.set(key, bits);
    return bits;
  }

  #has(day: number, firstWeekday: number, length: number): boolean {
    const { dayOfWeek, starDOM, starDOW, useAndLogic } = this.#fields;
    const byDate = this.#hasDate(day, firstWeekday, length);
    if (starDOW) return byDate;
    const asked = dayOfWeek[(firstWeekday + day - 1) % 7] ?? 0;
    const isNth = (asked & (1 << (Math.ceil(day / 7) - 1))) !== 0;
    const byWeekday = isNth || ((asked & LAST_OF_MONTH) !== 0 && day + 7 > length);
    // As cron has it: two fields that say something are either of them enough.
    return useAndLogic || starDOM ? byDate && byWeekday : byDate || byWeekday;
  }

  #hasDate(day: number, firstWeekday: number, length: number): boolean {
    const { day: days, lastDayOfMonth, lastWeekday, nearestWeekdays } = this.#fields;
    if (days[day - 1] === 1 || (lastDayOfMonth && day === length)) return true;
    const nearest = (asked: number): number => nearestWeekday(asked, firstWeekday, length);
    if (lastWeekday && day === nearest(length)) return true;
    return nearestWeekdays.some((set, index) => set === 1 && index < length && nearest(index + 1) === day);
  }
}

/** The Monday to Friday of the same month that is nearest to this day of it. */
function nearestWeekday(day: number, firstWeekday: number, length: number): number {
  const weekday = (firstWeekday + day - 1) % 7;
  if (weekday === 0) return day === length ? day - 2 : day + 1;
  if (weekday === 6) return day === 1 ? day + 2 : day - 1;
  return day;
}

const setIn = (flags: readonly number[]): number[] =>
  flags.flatMap((flag, index) => (flag === 1 ? [index] : []));
