/** Checks that comments refer only to existing files, names of their own file and sections of documents. */
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

  it('names existing files', () => {
    const named = comments.flatMap((text) => [...text.matchAll(/[\w/-]+\.ts\b/g)]);
    const missing = named
      .map(([name]) => name)
      .filter(
        (name) =>
          ![root, dirname(file), dirname(root)].some((folder) => existsSync(join(folder, name))),
      );
    expect(missing).toEqual([]);
  });

  it('links to names of its own file', () => {
    const linked = comments.flatMap((text) => [...text.matchAll(/\{@link (\w+)/g)]);
    const missing = linked
      .map((match) => match[1]!)
      .filter((name) => !new RegExp(`\\b${name}\\b`).test(code));
    expect(missing).toEqual([]);
  });
});

describe('citations', () => {
  const house = resolve(root, '..');
  const comments = ['src', 'test', 'bench'].flatMap((folder) =>
    readdirSync(join(house, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(house, folder, name))
      .flatMap((file) =>
        proseOf(file).comments.map((text) => ({
          file: relative(house, file),
          text: text.replaceAll(/\s*\n\s*\* ?/g, ' '),
        })),
      ),
  );

  it('names existing sections of docs/', () => {
    const pages = readdirSync(join(house, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`);
    const titles = new Map(
      pages.map((page) => {
        const headings = readFileSync(join(house, page), 'utf8').matchAll(/^#+ (.+)$/gm);
        return [page, [...headings].map(([, title]) => title!)] as const;
      }),
    );
    const cited = comments.flatMap(({ file, text }) =>
      [...text.matchAll(/(docs\/[\w/-]+\.md)(?:, ([^.:;()]+))?/g)].map(
        ([citation, page, rest]) => ({
          position: `${file}: ${citation}`,
          page: page!,
          rest: rest ?? '',
        }),
      ),
    );
    const broken = cited.filter(
      ({ page, rest }) =>
        !titles
          .get(page)
          ?.some((title) => rest === '' || new RegExp(`^${title}(?!\\w)`).test(rest)),
    );
    expect(cited.length).toBeGreaterThan(40);
    expect(broken.map(({ position }) => position)).toEqual([]);
  });

  it('names nothing outside of the repository', () => {
    const foreign = comments.flatMap(({ file, text }) => {
      const pages = [...text.matchAll(/[\w./-]+\.(?:md|txt)\b/g)].map(([page]) => page);
      const marks = text.matchAll(/\b(?:C\d{3}|P-[A-Z]+-\d+)\b|\bdesign\/\w|\/work\/\w+/g);
      const missing = pages.filter((page) => !existsSync(join(house, page)));
      return [...missing, ...[...marks].map(([mark]) => mark)].map((cited) => `${file}: ${cited}`);
    });
    expect(foreign).toEqual([]);
  });
});
