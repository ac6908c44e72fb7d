/** Without the character at its end, however often it is there. An expression such as `/x+$/` needs the square of the length. */
export function trimmedEnd(text: string, character: string): string {
  let end = text.length;
  while (text.charAt(end - 1) === character) end -= 1;
  return text.slice(0, end);
}
