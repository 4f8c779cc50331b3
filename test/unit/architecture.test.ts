/** Guarantees the shape of the house: who may import whom, no circles, small files, short functions. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../../src');
const ground = ['secret', 'failure'];

/** A room and the rooms it may import; the table of the architecture, with the ground open to all. */
const mayImport: Record<string, readonly string[]> = {
  main: ['commands'],
  commands: ['app', 'embedded', 'sync', 'store', 'kube', 'model', 'settings', 'log', 'clock'],
  app: [
    'admin',
    'gateway',
    'mcp',
    'jobs',
    'auth',
    'http',
    'store',
    'settings',
    'log',
    'clock',
    'model',
  ],
  embedded: ['log', 'clock'],
  admin: ['auth', 'http', 'store', 'model', 'settings', 'clock'],
  gateway: [
    'guardrails',
    'ledger',
    'upstream',
    'auth',
    'http',
    'store',
    'model',
    'settings',
    'clock',
  ],
  mcp: ['guardrails', 'ledger', 'upstream', 'auth', 'http', 'store', 'model', 'settings', 'clock'],
  jobs: ['ledger', 'store', 'model', 'settings', 'log', 'clock'],
  sync: ['model', 'log', 'clock'],
  guardrails: ['auth', 'upstream', 'model'],
  ledger: ['store', 'model', 'clock'],
  auth: ['store', 'model', 'clock'],
  upstream: ['model'],
  store: ['model', 'settings', 'log'],
  http: ['model', 'settings', 'log'],
  kube: ['clock'],
  log: ['settings'],
  model: [],
  settings: [],
  clock: [],
  secret: [],
  failure: [],
};

const files = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name));
const sources = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));

/** First path segment below src: a folder or a single-file room. Settings may spread over settings/. */
function roomOf(file: string): string {
  return relative(root, file).split('/')[0]!.replace(/\.ts$/, '');
}

function importsOf(file: string): string[] {
  const source = sources.get(file) ?? '';
  const specifiers = source.matchAll(
    /(?:^|\n)\s*(?:import|export)[^'"`;]*?from\s*'(\.[^']+)'|import\(\s*'(\.[^']+)'\s*\)/g,
  );
  return [...specifiers].map((match) => resolve(dirname(file), (match[1] ?? match[2])!));
}

describe('the import table', () => {
  it('knows every room', () => {
    expect([...new Set(files.map(roomOf))].filter((room) => !(room in mayImport))).toEqual([]);
  });

  it.each([...files.map((file) => [relative(root, file), file] as const)])(
    'holds for %s',
    (_, file) => {
      const room = roomOf(file);
      const allowed = new Set([room, ...ground, ...(mayImport[room] ?? [])]);
      const forbidden = importsOf(file).filter((target) => !allowed.has(roomOf(target)));
      expect(forbidden.map((target) => relative(root, target))).toEqual([]);
    },
  );

  it('has no circle among files', () => {
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (file: string, path: string[]): void => {
      if (path.includes(file)) {
        circles.push(
          [...path.slice(path.indexOf(file)), file].map((at) => relative(root, at)).join(' -> '),
        );
      } else if (!done.has(file)) {
        for (const next of importsOf(file)) visit(next, [...path, file]);
        done.add(file);
      }
    };
    for (const file of files) visit(file, []);
    expect(circles).toEqual([]);
  });
});

describe('the habits of the house', () => {
  it('has no grab-bag or barrel file', () => {
    const banned = /^(utils|util|helpers|types|interfaces|lib|globals|common|misc)\.ts$/;
    expect(files.filter((file) => banned.test(file.split('/').at(-1)!))).toEqual([]);
    const barrels = files.filter((file) => /^export (\*|\{[^}]*\}) from/m.test(sources.get(file)!));
    expect(barrels).toEqual([]);
  });

  it('opens each file with one sentence that says what it knows', () => {
    const silent = files.filter((file) => !/^(#!.*\n)?\/\*\* \S/.test(sources.get(file)!));
    expect(silent.map((file) => relative(root, file))).toEqual([]);
  });

  it('keeps files at 400 lines and functions at 70', () => {
    const long = files.filter((file) => sources.get(file)!.split('\n').length > 401);
    expect(long.map((file) => relative(root, file))).toEqual([]);
    expect(files.flatMap(longFunctions)).toEqual([]);
  });

  it('reads the environment in the settings only', () => {
    const readers = files.filter(
      (file) => roomOf(file) !== 'settings' && /process\.env\b/.test(sources.get(file)!),
    );
    expect(readers.map((file) => relative(root, file))).toEqual([]);
  });
});

/** Top-level functions and methods span from their opening line to the closing brace at the same indent. */
function longFunctions(file: string): string[] {
  const lines = sources.get(file)!.split('\n');
  const long: string[] = [];
  lines.forEach((line, at) => {
    const opening =
      /^( *)(?:export )?(?:default )?(?:async )?(?:function\*? |(?:static |private |#)?(?:async )?[\w$]+\(.*\).*\{$)/.exec(
        line,
      );
    if (opening === null || /^\s*(if|for|while|switch|return|await)\b/.test(line)) return;
    const end = lines.indexOf(`${opening[1]}}`, at + 1);
    if (end - at + 1 > 70) long.push(`${relative(root, file)}:${at + 1} has ${end - at + 1} lines`);
  });
  return long;
}
