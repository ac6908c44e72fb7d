/** Control and format characters, among them those that turn the order of writing, and separators of lines and paragraphs. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]/u;

/** Whether nothing in the text acts on a terminal or is hidden on it. */
export const isPrintable = (text: string): boolean => !HIDDEN.test(text);
