/** Guarantees that comments point only at what exists: files by their name, links at names of their own file. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseSync } from 'rolldown/utils';
import { describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../../src');
const files = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name));

interface Prose {
  readonly comments: readonly string[];
  /** The source without its comments. */
  readonly code: string;
}

function proseOf(file: string): Prose {
  const source = readFileSync(file, 'utf8');
  const { comments } = parseSync(file, source);
  const code = comments.reduceRight(
    (text, { start, end }) => text.slice(0, start) + text.slice(end),
    source,
  );
  return { comments: comments.map(({ value }) => value), code };
}

describe.each(files.map((file) => [relative(root, file), file] as const))('%s', (_, file) => {
  const { comments, code } = proseOf(file);

  it('names files that exist', () => {
    const named = comments.flatMap((text) => [...text.matchAll(/[\w/-]+\.ts\b/g)]);
    const missing = named
      .map(([name]) => name)
      .filter(
        (name) =>
          ![root, dirname(file), dirname(root)].some((folder) => existsSync(join(folder, name))),
      );
    expect(missing).toEqual([]);
  });

  it('links to names that it has', () => {
    const linked = comments.flatMap((text) => [...text.matchAll(/\{@link (\w+)/g)]);
    const missing = linked
      .map((match) => match[1]!)
      .filter((name) => !new RegExp(`\\b${name}\\b`).test(code));
    expect(missing).toEqual([]);
  });
});
