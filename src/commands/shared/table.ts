/** Formats rows of text as columns. */
import { oneLine } from '../../terminal-text.ts';

/** Lines of columns padded to their widest cell, two spaces apart; the last column is not padded. */
export function formatTable(texts: readonly (readonly string[])[]): string {
  const rows = texts.map((row) => row.map(oneLine));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  const lines = rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at]!))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}
