/** Writes the difference of one file as a patch for `git apply`. */
import { structuredPatch } from 'diff';

const contextLines = 3;
/** Longer scripts of edits would take too long to compute; the patch then replaces the whole file. */
const editsMax = 2_000;

/** Returns '' for equal texts. `path` is relative to the root of the repository. */
export function patchOf(path: string, before: string, after: string): string {
  if (before === after) return '';
  const names = [`a/${path}`, `b/${path}`] as const;
  const options = { context: contextLines, maxEditLength: editsMax };
  const found = structuredPatch(...names, before, after, undefined, undefined, options);
  const hunks = found?.hunks ?? [wholeFile(before, after)];
  const lines = hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines: own }) => [
    `@@ -${rangeText(oldStart, oldLines)} +${rangeText(newStart, newLines)} @@`,
    ...own,
  ]);
  const [old, changed] = names.map(quoted);
  const head = [
    `diff --git ${old} ${changed}`,
    `--- ${old}${tab(old!)}`,
    `+++ ${changed}${tab(changed!)}`,
  ];
  return `${[...head, ...lines].join('\n')}\n`;
}

function rangeText(start: number, count: number): string {
  return `${count === 0 ? start - 1 : start},${count}`;
}

function wholeFile(before: string, after: string) {
  const [old, changed] = [before, after].map(linesOf);
  return {
    oldStart: 1,
    oldLines: old!.length,
    newStart: 1,
    newLines: changed!.length,
    lines: [...marked('-', old!, before), ...marked('+', changed!, after)],
  };
}

function linesOf(text: string): string[] {
  if (text === '') return [];
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
}

function marked(sign: string, lines: readonly string[], text: string): string[] {
  const end = text === '' || text.endsWith('\n') ? [] : ['\\ No newline at end of file'];
  return [...lines.map((line) => sign + line), ...end];
}

/** Git reads a name with unusual characters in C notation. */
function quoted(name: string): string {
  if (!/["\\\u0000-\u001f\u007f]/.test(name)) return name;
  const escaped = name
    .replaceAll(/["\\]/g, String.raw`\$&`)
    .replaceAll(
      /[\u0000-\u001f\u007f]/g,
      (at) => `\\${at.charCodeAt(0).toString(8).padStart(3, '0')}`,
    );
  return `"${escaped}"`;
}

/** Git ends a name that contains a space with a tab. */
function tab(name: string): string {
  return name.includes(' ') && !name.startsWith('"') ? '\t' : '';
}
