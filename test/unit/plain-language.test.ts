/** Verifies the mechanical rules for plain language: comments, names, test titles and the glossary. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { namesOf } from '../support/exported-names.ts';
import { findStyleFaults } from '../support/plain-language.ts';

const root = resolve(import.meta.dirname, '../..');
const sources = new Map(
  ['src', 'test', 'bench', 'scripts', 'console', 'site'].flatMap((folder) =>
    sourcesBelow(join(root, folder)),
  ),
);
const folders = [...new Set([...sources.keys()].map((file) => relative(root, dirname(file))))];

function sourcesBelow(folder: string): (readonly [string, string])[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:tsx?|mjs)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/\/(?:node_modules|generated|\.astro|dist)\//.test(file))
    .map((file) => [file, readFileSync(file, 'utf8')] as const);
}

describe('comments, names and titles', () => {
  it.each(folders.toSorted())('%s follows the rules for plain language', (folder) => {
    const faults = [...sources]
      .filter(([file]) => dirname(file) === join(root, folder))
      .flatMap(([file, source]) => {
        const path = relative(root, file);
        return findStyleFaults(path, source).map(
          ({ line, message }) => `${path}:${line}: ${message}`,
        );
      });
    expect(faults).toEqual([]);
  });
});

describe('exported names', () => {
  const modules = [...sources]
    .filter(([file]) => file.startsWith(join(root, 'src/')))
    .map(([file, source]) => namesOf(file, source));
  const exported = Map.groupBy(
    modules.flatMap((names) => names.exported),
    ({ name }) => name,
  );
  const filesOf = (names: readonly { readonly file: string }[]): Set<string> =>
    new Set(names.map(({ file }) => relative(root, file)));
  const pathsOf = (names: readonly { readonly file: string }[]): string =>
    [...filesOf(names)].join(', ');
  /** One module may declare a name twice: a schema and its type, or the overloads of a function. */
  const repeated = [...exported].filter(([, declarations]) => filesOf(declarations).size > 1);

  it('declares every exported type, interface and class once in src', () => {
    const faults = repeated
      .filter(([, declarations]) => declarations.some(({ isType }) => isType))
      .map(([name, declarations]) => `${name}: ${pathsOf(declarations)}`);
    expect(faults).toEqual([]);
  });

  it('reads every repeated function or constant through a namespace import', () => {
    const imported = Map.groupBy(
      modules.flatMap((names) => names.imported),
      ({ name, from }) => `${from} ${name}`,
    );
    const faults = repeated
      .filter(([, declarations]) => declarations.every(({ isType }) => !isType))
      .flatMap(([name, declarations]) => {
        const importers = declarations.flatMap(({ file }) => imported.get(`${file} ${name}`) ?? []);
        if (importers.length === 0) return [];
        return [`${name}: ${pathsOf(declarations)}; imported by name in ${pathsOf(importers)}`];
      });
    expect(faults).toEqual([]);
  });
});

describe('docs/glossary.md', () => {
  const text = readFileSync(join(root, 'docs/glossary.md'), 'utf8');
  /** The first cell of each row, without the head of the table. */
  const terms = [...text.matchAll(/^\| ([^|]+?) \|/gm)].map(([, term]) => term!).slice(1);

  it('defines at most 60 terms', () => {
    expect(terms.length).toBeGreaterThan(0);
    expect(terms.length).toBeLessThanOrEqual(60);
  });

  it('defines each term once', () => {
    const lowered = terms.map((term) => term.toLowerCase());
    expect(lowered.filter((term, at) => lowered.indexOf(term) !== at)).toEqual([]);
  });
});
