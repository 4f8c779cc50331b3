/** Checks that a watched folder is read after any change, and only then. */
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openFolder } from '../../../../src/sync/source/folder.ts';
import { FolderLook } from '../../../../src/sync/source/folder-look.ts';
import { eventually } from '../../../support/server/eventually.ts';

const hourMs = 3_600_000;
let home: string;
let root: string;
let reads: number;
/** Late enough for a recent write to count as settled. */
let now: number;
let look: FolderLook;

const write = (path: string, text: string): void => writeFileSync(join(root, path), text);

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'gatewright-look-')));
  root = join(home, 'source');
  mkdirSync(join(root, 'team'), { recursive: true });
  write('a.yaml', 'a: 1\n');
  write('team/b.yaml', 'b: 1\n');
  reads = 0;
  now = Date.now() + hourMs;
  const source = openFolder(root, '/');
  let digests = 0;
  look = new FolderLook(
    root,
    () => {
      reads += 1;
      digests += 1;
      const files = ['a.yaml', 'team/b.yaml'].map((path) => join(root, path));
      return {
        digest: `${source.describe} ${digests}`,
        folders: [root, join(root, 'team')],
        files,
      };
    },
    () => now,
  );
});
afterEach(() => {
  look[Symbol.dispose]();
  rmSync(home, { recursive: true, force: true });
});

describe('a scan', () => {
  it('reads an unchanged file once, also in a full scan', () => {
    const first = look.digest();
    for (let at = 0; at < 50; at += 1) {
      now += 1_000;
      expect(look.digest()).toBe(first);
    }
    expect(reads).toBe(1);
  });

  it('reads a recently changed file again until no write could leave the same marks', () => {
    now = Date.now();
    look.digest();
    look.digest();
    expect(reads).toBe(2);
    now += hourMs;
    look.digest();
    look.digest();
    expect(reads).toBe(3);
  });

  it.each<[string, () => void]>([
    ['writing a file', () => write('a.yaml', 'a: 2\n')],
    ['writing a file of a folder below', () => write('team/b.yaml', 'b: 2\n')],
    ['adding a file', () => write('team/c.yaml', 'c: 1\n')],
    ['adding a folder', () => mkdirSync(join(root, 'other'))],
    ['removing a file', () => rmSync(join(root, 'team/b.yaml'))],
    ['renaming a file over another', () => renameSync(join(root, 'a.yaml'), join(root, 'z.yaml'))],
    ['adding rules', () => write('.gatewrightignore', 'team/\n')],
  ])('notices %s before the full scan', async (_, change) => {
    look.digest();
    change();
    await eventually(() => {
      look.digest();
      expect(reads).toBeGreaterThan(1);
    });
  });

  it('notices changes without an event in time: a write through another name of the file', () => {
    const other = join(home, 'other.yaml');
    linkSync(join(root, 'a.yaml'), other);
    look.digest();
    writeFileSync(other, 'a: 200\n');
    now += 10_000;
    look.digest();
    expect(reads).toBe(2);
  });
});

describe('a source', () => {
  it('has another version at once when its link is redirected', async () => {
    const [one, two, link] = ['one', 'two', 'link'].map((name) => join(home, name)) as [
      string,
      string,
      string,
    ];
    for (const [folder, text] of [
      [one, 'a: 1\n'],
      [two, 'a: 2\n'],
    ] as const) {
      mkdirSync(folder);
      writeFileSync(join(folder, 'a.yaml'), text);
    }
    symlinkSync(one, link);
    const source = openFolder(link, '/');
    const first = await source.newest();
    expect(await source.newest()).toEqual(first);
    symlinkSync(two, `${link}.new`);
    renameSync(`${link}.new`, link);
    expect(await source.newest()).not.toEqual(first);
  });

  it('has another version once the data link of its ConfigMap mount is swapped', async () => {
    const data = join(root, '..data');
    mkdirSync(join(root, '..v1'));
    writeFileSync(join(root, '..v1/c.yaml'), 'c: 1\n');
    symlinkSync('..v1', data);
    symlinkSync('..data/c.yaml', join(root, 'c.yaml'));
    const source = openFolder(root, '/');
    const first = await source.newest();
    mkdirSync(join(root, '..v2'));
    writeFileSync(join(root, '..v2/c.yaml'), 'c: 2\n');
    symlinkSync('..v2', `${data}.new`);
    renameSync(`${data}.new`, data);
    await eventually(async () => expect(await source.newest()).not.toEqual(first));
  });
});
