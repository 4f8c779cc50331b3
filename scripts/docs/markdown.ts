/** Writes generated pages of the documentation site in Markdown. */

/** Escapes characters that Markdown or HTML interprets in running text; code spans stay as they are. */
export function escapeText(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replaceAll(/[<>&*_[\]\\]/g, '\\$&')))
    .join('');
}

/** Returns a code span; the text must hold no backtick. */
export function code(text: string): string {
  return `\`${text}\``;
}

/** Returns nothing for a table without rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line), ''];
}

/** `API keys` becomes `api-keys`. */
export function slugOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}
