/** Finds the parts of a prompt that its author has written, without the wrappers that agents add. */

interface TextPart {
  readonly text: string;
  /** Position in the whole text. */
  readonly from: number;
}

/** Elements that agents add to messages of users. */
const wrappers = [
  'system-reminder',
  'environment_details',
  'mcp_instructions',
  'mcp-server-instructions',
  'local-command-caveat',
];
const opening = new RegExp(`<(${wrappers.join('|')})>`, 'g');
/** A line that marks a request for a suggestion. */
const suggestionMark = /^\[SUGGESTION MODE:[^\]\n]{0,2000}\]/gm;

/** The parts between the wrappers. A wrapper without an end is part of the text. */
export function scaffoldingIn(text: string): TextPart[] {
  const removed = [...wrapped(text), ...marks(text)].toSorted(
    (one, other) => one.from - other.from,
  );
  const parts: TextPart[] = [];
  let end = 0;
  for (const { from, to } of removed) {
    if (from > end) parts.push({ text: text.slice(end, from), from: end });
    end = Math.max(end, to);
  }
  if (end < text.length) parts.push({ text: text.slice(end), from: end });
  return parts;
}

function* wrapped(text: string): Generator<{ from: number; to: number }> {
  opening.lastIndex = 0;
  const missing = new Set<string>();
  for (let match = opening.exec(text); match !== null; match = opening.exec(text)) {
    const name = match[1]!;
    // Each name is searched in vain only once, because a text may open thousands of wrappers.
    if (missing.has(name)) continue;
    const closing = `</${name}>`;
    const at = text.indexOf(closing, opening.lastIndex);
    if (at === -1) {
      missing.add(name);
      continue;
    }
    opening.lastIndex = at + closing.length;
    yield { from: match.index, to: at + closing.length };
  }
}

function* marks(text: string): Generator<{ from: number; to: number }> {
  for (const match of text.matchAll(suggestionMark)) {
    yield { from: match.index, to: match.index + match[0].length };
  }
}
