/** Tests which files of a folder are read, and that nothing outside it is. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Failure } from '../../../../src/failure.ts';
import { openFolder, openStdin, refuseExcess } from '../../../../src/sync/source/folder.ts';
import { readSources } from '../../../../src/sync/source/source.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gatewright-folder-'));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text = 'a: 1\n'): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

async function pathsOf(location = root): Promise<string[]> {
  return (await openFolder(location, root).read()).files.map(({ path }) => path);
}

it('reads YAML and JSON of all subfolders in the order of their paths', async () => {
  for (const path of ['b.yml', 'a/z.yaml', 'a/b/c.JSON', 'README.md', 'B.yaml']) write(path);
  expect(await pathsOf()).toEqual(['B.yaml', 'a/b/c.JSON', 'a/z.yaml', 'b.yml']);
});

it('skips hidden files and folders and installed packages', async () => {
  for (const path of ['.a.yaml', '.git/b.yaml', 'node_modules/c/d.yaml', 'e.yaml']) write(path);
  expect(await pathsOf()).toEqual(['e.yaml']);
});

it('rejects links out of the folder, to folders and to nowhere, and reads nothing through them', async () => {
  write('in/a.yaml');
  write('out/secret.yaml');
  symlinkSync(join(root, 'out/secret.yaml'), join(root, 'in/b.yaml'));
  symlinkSync(join(root, 'out'), join(root, 'in/c'));
  symlinkSync(join(root, 'nowhere'), join(root, 'in/d.yaml'));
  const { files, faults } = await openFolder('in', root).read();
  expect(files.map(({ path }) => path)).toEqual(['a.yaml']);
  expect(faults.map(({ code, position }) => `${position.file} ${code}`).sort()).toEqual([
    'b.yaml symbolic-link',
    'c symbolic-link',
    'd.yaml symbolic-link',
  ]);
});

it('follows links to files inside, as in a mounted ConfigMap', async () => {
  write('..2027/a.yaml');
  symlinkSync('..2027', join(root, '..data'));
  symlinkSync('..data/a.yaml', join(root, 'a.yaml'));
  const { files, faults } = await openFolder(root, root).read();
  expect([files.map(({ path }) => path), faults]).toEqual([['a.yaml'], []]);
});

it('rejects a file beyond the limit without reading it', async () => {
  write('a.yaml', `# ${'x'.repeat(1024 * 1024)}`);
  const { files, faults } = await openFolder(root, root).read();
  expect([files, faults.map(({ code }) => code)]).toEqual([[], ['file-too-large']]);
});

it('accepts ten thousand files, and states how many are too many', () => {
  expect(() => refuseExcess(20_000, 64 * 1024 * 1024)).not.toThrow();
  expect(() => refuseExcess(20_001, 0)).toThrow('larger than 20000 files and 64 MiB in all');
});

it('rejects names that differ in case only', async () => {
  write('a.yaml');
  write('A.yaml');
  const { faults } = await openFolder(root, root).read();
  expect(faults.map(({ code }) => code)).toEqual(['case-twin']);
});

it('reports a missing location, with exit code 5', async () => {
  const failure = await openFolder('nowhere', root)
    .read()
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(Failure);
  expect(failure).toMatchObject({
    kind: 'invalidInput',
    message: 'No such file or folder: nowhere',
  });
});

it('has a digest that changes with content and name and with nothing else', async () => {
  write('a.yaml');
  const source = openFolder(root, root);
  const first = await source.newest();
  expect((await source.read()).info.digest).toBe(first.digest);
  write('.hidden.yaml');
  expect(await source.newest()).toEqual(first);
  write('a.yaml', 'a: 2\n');
  const second = await source.newest();
  expect(second).not.toEqual(first);
  rmSync(join(root, 'a.yaml'));
  write('b.yaml', 'a: 2\n');
  expect(await source.newest()).not.toEqual(second);
});

it('reads one file, standard input, and several places as one source', async () => {
  write('x/a.yaml');
  write('y/b.yaml');
  const stdin = Readable.from([Buffer.from('c: '), Buffer.from('1\n')]);
  const options = { cwd: root, cacheDirectory: root, stdin };
  const { files } = await readSources(['x', 'y/b.yaml', '-'], options);
  expect(files.map(({ path }) => path)).toEqual(['<stdin>', 'x/a.yaml', 'y/b.yaml']);
});

it('rejects standard input beyond the limit', async () => {
  const endless = async function* () {
    for (;;) yield Buffer.alloc(64 * 1024, 'x');
  };
  const { faults } = await openStdin(Readable.from(endless()), undefined).read();
  expect(faults.map(({ code }) => code)).toEqual(['file-too-large']);
});

it('names a location that does not exist on one line, whatever is in it', async () => {
  const reading = openFolder('no\nsuch: all is well', root).read();
  await expect(reading).rejects.toThrow(/^No such file or folder: no\\u000asuch: all is well$/);
});

it('skips the files that .gatewrightignore lists, in each folder, and reports them', async () => {
  write('.gatewrightignore', '*.json\n!keep.json\nvendor/\nlink.yaml\n');
  for (const path of ['plan.json', 'keep.json', 'vendor/a.yaml', 'a.yaml', 'README.md'])
    write(path);
  write('team/.gatewrightignore', '/ci.yaml\n');
  for (const path of ['team/ci.yaml', 'team/b.yaml', 'team/x/ci.yaml']) write(path);
  symlinkSync(join(root, '..'), join(root, 'link.yaml'));
  const { files, faults, ignored } = await openFolder(root, root).read();
  expect(files.map(({ path }) => path)).toEqual([
    'a.yaml',
    'keep.json',
    'team/b.yaml',
    'team/x/ci.yaml',
  ]);
  expect(faults).toEqual([]);
  expect(ignored).toEqual(['link.yaml', 'plan.json', 'team/ci.yaml', 'vendor/']);
  const both = await readSources(['team', '.'], { cwd: root, cacheDirectory: root });
  expect(both.ignored).toEqual([
    'team/ci.yaml',
    'link.yaml',
    'plan.json',
    'team/ci.yaml',
    'vendor/',
  ]);
});

it('reads a named file whatever the rules are', async () => {
  write('.gatewrightignore', '*\n');
  write('a.yaml');
  expect(await pathsOf('a.yaml')).toEqual(['a.yaml']);
  expect(await pathsOf()).toEqual([]);
});

it('rejects rules that are wrong, or that are a link to the outside, with their position', async () => {
  write('.gatewrightignore', 'a\n[b\n');
  write('in/a.yaml');
  symlinkSync('/etc/passwd', join(root, 'in/.gatewrightignore'));
  const { faults } = await openFolder(root, root).read();
  expect(faults.map(({ position, message }) => [position.file, position.line, message])).toEqual([
    ['.gatewrightignore', 2, 'a [ is not closed'],
    ['in/.gatewrightignore', 1, 'this is a link to another folder, which is not read'],
  ]);
});

it('never blocks on a pipe, device or socket, in a folder or named', async () => {
  execFileSync('mkfifo', [join(root, 'pipe.yaml')]);
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(join(root, 'socket.yaml'), resolve);
  });
  const { faults } = await openFolder(root, root).read();
  const named = async (path: string): Promise<unknown> =>
    await openFolder(path, root)
      .read()
      .catch((error: unknown) => (error as Failure).message);
  expect(faults.map(({ position, message }) => `${position.file} ${message}`).sort()).toEqual([
    'pipe.yaml this is a named pipe, which is not read',
    'socket.yaml this is a socket, which is not read',
  ]);
  const advice = 'which is not read. Name a file or folder, or - for standard input.';
  expect(await named('pipe.yaml')).toBe(`pipe.yaml is a named pipe, ${advice}`);
  expect(await named('socket.yaml')).toBe(`socket.yaml is a socket, ${advice}`);
  expect(await named('/dev/zero')).toBe(`/dev/zero is a device, ${advice}`);
  server.close();
});

it('reports a cycle of links, and a subfolder without permission', async () => {
  symlinkSync('b', join(root, 'a'));
  symlinkSync('a', join(root, 'b'));
  const failure = await openFolder('a', root)
    .read()
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ message: 'The symbolic links form a loop: a' });
  const { faults } = await openFolder('.', root).read();
  expect(faults.map(({ position, code }) => `${position.file} ${code}`).sort()).toEqual([
    'a symbolic-link',
    'b symbolic-link',
  ]);
});
