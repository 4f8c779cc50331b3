/** Escapes text so that terminals interpret only our own colours. */

/**
 * Control characters (C0 except line feed, DEL, C1), bidirectional controls, line separators other
 * than the line feed, lone surrogates, and the non-characters that mark our colours.
 */
const obeyed =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ud800-\udfff]/gu;

/** Matches nearly every text; testing takes a fraction of the time of a replacement. */
const harmless = /^[\n -~]*$/;

/** ANSI codes in the order of their marks. */
const colourCodes = { dim: 2, red: 31, green: 32, yellow: 33, magenta: 35, cyan: 36 } as const;
export type Colour = keyof typeof colourCodes;

const codes = Object.values(colourCodes);
const firstMark = 0xfdd0;
const endMark = String.fromCodePoint(firstMark + codes.length);
const mark = new RegExp(`[${String.fromCodePoint(firstMark)}-${endMark}]`, 'gu');
const unmarked = /[^\ufdd0-\ufdef]+/gu;

/**
 * Escapes every character in foreign text (names, messages, whole documents) that a terminal would
 * interpret, except line feeds, as `\u001b`, which is also valid in JSON.
 */
export function printable(text: string): string {
  return harmless.test(text) ? text : text.replace(obeyed, spelt);
}

/** Like {@link printable}, but also escapes line feeds, so that a name cannot forge a line. */
export function oneLine(text: string): string {
  return printable(text).replaceAll('\n', '\\u000a');
}

/** {@link printable} text in a colour, which {@link forTerminal} renders or removes. */
export function coloured(colour: Colour, text: string): string {
  const at = Object.keys(colourCodes).indexOf(colour);
  return `${String.fromCodePoint(firstMark + at)}${printable(text)}${endMark}`;
}

/** Prepares text for output: {@link printable}, with colours rendered if `color` is set. */
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
