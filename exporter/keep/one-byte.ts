/**
 * The same JSON in characters of one byte. V8 keeps a whole text in two bytes a character for the sake of a single one beyond Latin-1,
 * such as the arrow of `2 → 4`: that one is escaped.
 */
export function inOneByte(json: string): string {
  if (!/[\u0100-\uffff]/.test(json)) return json;
  const escaped = json.replaceAll(
    /[\u0100-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return Buffer.from(escaped, "latin1").toString("latin1");
}
