/** Finds functions and classes of a source file that are longer than the limits of the house. */
import { parseSync } from 'rolldown/utils';

/** Returns the first line and the length of each span beyond its limit: `12 has 80 lines`. */
export function findLongSpans(file: string, source: string): string[] {
  const lineOf = (offset: number): number => source.slice(0, offset).split('\n').length;
  const long: string[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { type, start, end } = node as { type?: string; start?: number; end?: number };
    const linesMax = spanLinesMax(type);
    if (linesMax !== undefined) {
      const [first, last] = [lineOf(start!), lineOf(end!)];
      const lines = last - first + 1;
      if (lines > linesMax) long.push(`${first} has ${lines} lines`);
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(parseSync(file, source).program);
  return long;
}

function spanLinesMax(type: string | undefined): number | undefined {
  if (type?.includes('Function')) return 70;
  return type?.startsWith('Class') && type !== 'ClassBody' ? 150 : undefined;
}
