/** Shortens texts of servers and escapes every character in them that a reader would not see. */

/** Everything without a visible form except blanks: controls, formats, fillers, tags, private and unassigned ones. */
const unseen =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]|[\u{fe00}-\u{fe0f}]|[\u{e0100}-\u{e01ef}]/gu;

/** One line of at most `charsMax` characters before the escapes. */
export function visibleText(text: string, charsMax: number): string {
  const start = [...text.slice(0, 2 * charsMax)].slice(0, charsMax).join('');
  const escapedText = start.replace(unseen, escaped);
  return start.length < text.length ? `${escapedText}… (${text.length} characters)` : escapedText;
}

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}
