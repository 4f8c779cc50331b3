/** Verifies the house of the console: which parts import which, and the limits on folders, files and functions. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findLongSpans } from '../support/source-limits.ts';

const root = resolve(import.meta.dirname, '../../console/src');
const files = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map((entry) => join(entry.parentPath, entry.name));
const sources = new Map(files.map((file) => [relative(root, file), readFileSync(file, 'utf8')]));

/** Rooms that a room may import beside itself. A page is a room of its own, and imports no other page. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  routing: [],
  api: ['generated'],
  parts: ['api', 'routing'],
  page: ['api', 'routing', 'parts', 'pages.ts', 'model'],
  'pages.ts': ['page'],
  app: ['api', 'routing', 'parts', 'pages.ts', 'app'],
};

/** The room of a path below console/src, or of what lies outside of it. */
function roomOf(path: string): string {
  if (path.startsWith('../generated/')) return 'generated';
  if (path.startsWith('../../src/model/')) return 'model';
  const [first, second, third] = path.split('/');
  if (first === 'pages') return third === undefined ? second! : `page ${second}`;
  return second === undefined ? 'app' : first!;
}

function mayImport(from: string, to: string): boolean {
  if (from === to) return true;
  const kindOf = (room: string): string => (room.startsWith('page ') ? 'page' : room);
  return (allowed[kindOf(from)] ?? []).includes(kindOf(to));
}

function importsOf(file: string): string[] {
  const pattern = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g;
  return [...sources.get(file)!.matchAll(pattern)].map(([, path]) =>
    relative(root, resolve(root, dirname(file), path!)),
  );
}

describe('the house of the console', () => {
  it('lets each room import only the rooms below it', () => {
    const faults = [...sources.keys()].flatMap((file) =>
      importsOf(file)
        .filter((path) => !mayImport(roomOf(file), roomOf(path)))
        .map((path) => `${file} imports ${path}`),
    );
    expect(faults).toEqual([]);
  });

  it('keeps files at 400 lines and functions at 70', () => {
    const long = [...sources].filter(([, source]) => source.split('\n').length > 401);
    expect(long.map(([file]) => file)).toEqual([]);
    const spans = [...sources].flatMap(([file, source]) =>
      findLongSpans(file, source).map((span) => `${file}:${span}`),
    );
    expect(spans).toEqual([]);
  });

  it('keeps folders at 25 files', () => {
    const folders = Object.groupBy(sources.keys(), (file) => dirname(file));
    const full = Object.entries(folders).filter(([, names]) => names!.length > 25);
    expect(full.map(([folder]) => folder)).toEqual([]);
  });

  it('turns no text into markup', () => {
    const forbidden =
      /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write/;
    expect(
      [...sources].filter(([, source]) => forbidden.test(source)).map(([file]) => file),
    ).toEqual([]);
  });
});
