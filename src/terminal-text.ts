/** Knows how text is written so that a terminal obeys none of it but our own colours. */

/**
 * Controls (C0 but the line feed, DEL, C1), what changes the direction of writing, breaks of lines
 * that are no line feed, halves of characters, and the non-characters that stand for our colours.
 */
const obeyed =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ud800-\udfff]/gu;

/** As nearly every text is, which is seen in a fraction of the time that a replacement takes. */
const harmless = /^[\n -~]*$/;

/** In the order of their marks, with the number that terminals know each by. */
const colourCodes = { dim: 2, red: 31, green: 32, yellow: 33, magenta: 35, cyan: 36 } as const;
export type Colour = keyof typeof colourCodes;

const codes = Object.values(colourCodes);
const firstMark = 0xfdd0;
const endMark = String.fromCodePoint(firstMark + codes.length);
const mark = new RegExp(`[${String.fromCodePoint(firstMark)}-${endMark}]`, 'gu');
const unmarked = /[^\ufdd0-\ufdef]+/gu;

/**
 * Text from elsewhere (names, messages, whole documents) with every character that a terminal would
 * obey, line feeds apart, spelt as `\u001b`, which is what JSON takes it for, too.
 */
export function printable(text: string): string {
  return harmless.test(text) ? text : text.replace(obeyed, spelt);
}

/** {@link printable}, with line feeds spelt as well: a name cannot feign a line of its own. */
export function oneLine(text: string): string {
  return printable(text).replaceAll('\n', '\\u000a');
}

/** {@link printable} in a colour, which {@link forTerminal} puts in or leaves out. */
export function coloured(colour: Colour, text: string): string {
  const at = Object.keys(colourCodes).indexOf(colour);
  return `${String.fromCodePoint(firstMark + at)}${printable(text)}${endMark}`;
}

/** Text for people as it is written out: {@link printable}, with the marks of colours as `color` says. */
export function forTerminal(text: string, { color }: { readonly color: boolean }): string {
  if (harmless.test(text)) return text;
  return text.replace(unmarked, printable).replace(mark, (found) => {
    const code = codes[found.codePointAt(0)! - firstMark] ?? 0;
    return color ? `\u001b[${code}m` : '';
  });
}

function spelt(character: string): string {
  return `\\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`;
}
