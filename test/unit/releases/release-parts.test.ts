/** Tests the parts of the release build that need no network: keys, ELF, tar, notes, licences. */
import { generateKeyPairSync, verify } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { readDebianLock } from '../../../scripts/release/debian/package-lock.ts';
import { elfMachines, readElf } from '../../../scripts/release/elf.ts';
import { type FileTree, file, folder, link, tarOf } from '../../../scripts/release/file-tree.ts';
import { imagePrograms } from '../../../scripts/release/image-programs.ts';
import { listLicences } from '../../../scripts/release/licences.ts';
import { readArchive } from '../../../scripts/release/npm-package.ts';
import { releaseNotes } from '../../../scripts/release/release-notes.ts';
import { openSigner } from '../../../scripts/release/release-signer.ts';
import type { Sbom } from '../../../scripts/release/sbom.ts';
import { parseImageReference } from '../../../src/releases/image-reference.ts';
import { trustOfKey } from '../../../src/releases/signer-trust.ts';

const root = resolve(import.meta.dirname, '../../..');
const work = mkdtempSync(join(tmpdir(), 'gatewright-parts-'));
afterAll(() => rmSync(work, { recursive: true }));

function written(name: string, text: string): string {
  const path = join(work, name);
  writeFileSync(path, text);
  return path;
}

describe('a signing key', () => {
  it('signs with an encrypted PEM when COSIGN_PASSWORD is right, and says so when it is not', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const protection = { cipher: 'aes-256-cbc', passphrase: 'correct' };
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem', ...protection });
    const path = written('encrypted.pem', pem.toString());
    vi.stubEnv('COSIGN_PASSWORD', 'correct');
    const signer = openSigner(path);
    const bytes = Buffer.from('signed');
    trustOfKey(signer.publicKey!, null).verifyBytes(await signer.signBytes(bytes), bytes);
    const raw = Buffer.from(signer.rawSignature!(bytes), 'base64');
    expect(verify('sha256', bytes, signer.publicKey!, raw)).toBe(true);
    vi.stubEnv('COSIGN_PASSWORD', 'wrong');
    expect(() => openSigner(path)).toThrow('COSIGN_PASSWORD does not decrypt it');
  });

  it('is refused when it is of another kind', () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const path = written(
      'ed25519.pem',
      privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    );
    expect(() => openSigner(path)).toThrow('another kind than ECDSA on the curve P-256');
  });

  it('is named as missing where no CI job has an identity', () => {
    vi.stubEnv('ACTIONS_ID_TOKEN_REQUEST_URL', '');
    vi.stubEnv('SIGSTORE_ID_TOKEN', '');
    expect(() => openSigner(null)).toThrow('nothing to sign with: pass --key FILE');
  });
});

describe('an ELF file', () => {
  it.runIf(process.platform === 'linux')('states its machine, loader and libraries', () => {
    const elf = readElf(readFileSync(process.execPath))!;
    const expected = process.arch === 'x64' ? elfMachines.amd64 : elfMachines.arm64;
    expect(elf.machine).toBe(expected);
    expect(elf.interpreter).toMatch(/^\/lib.*\/ld-linux-/);
    expect(elf.needed).toContain('libc.so.6');
  });

  it('is told from other files', () => {
    expect(readElf(Buffer.from('#!/bin/sh'))).toBeNull();
    expect(() => readElf(Buffer.alloc(64).fill('\x7fELF\x01\x01', 0, 6))).toThrow('not of 64 bits');
  });
});

describe('an archive of a file tree', () => {
  const entries = [
    ['b/program', file('x', 0o755)],
    ['a', link('b/program')],
    ['b/data', folder(0o770, 65_532)],
  ] as const;

  it('has the same bytes whatever the order of its entries is', async () => {
    const mtime = new Date(1_700_000_000_000);
    const one = await tarOf(new Map(entries) as FileTree, mtime);
    const two = await tarOf(new Map(entries.toReversed()) as FileTree, mtime);
    expect(one.equals(two)).toBe(true);
    expect((await tarOf(new Map(entries) as FileTree, new Date(0))).equals(one)).toBe(false);
    expect([...(await readArchive(gzipSync(one))).keys()]).toEqual(['b/program']);
  });
});

describe('the release notes', () => {
  it('contain the section of the version, and are refused without one', () => {
    const changelog = '# Changelog\n\n## 1.1.0\n\nNew.\n\n## 1.0.0\n\nOld.\n';
    expect(releaseNotes(changelog, '1.1.0')).toBe('# gatewright 1.1.0\n\nNew.\n');
    expect(() => releaseNotes(changelog, '1.1')).toThrow('CHANGELOG.md has no section ## 1.1');
  });
});

describe('the list of licences', () => {
  const part = { type: 'library', name: 'zod', version: '1.0.0', 'bom-ref': 'zod' };
  const bom = (component: object): Sbom =>
    ({ metadata: { component: part }, components: [component], dependencies: [] }) as Sbom;

  it('contains the text of each package, and the data with licences of their own', () => {
    const text = listLicences(bom({ ...part, licenses: [{ license: { id: 'MIT' } }] }), root);
    expect(text).toContain('| zod 1.0.0 | MIT |');
    expect(text).toContain('Permission is hereby granted');
    expect(text).toContain('| lid.176.ftz, the language model of fastText | CC-BY-SA-3.0 |');
  });

  it.each([[], [{ license: { name: 'UNLICENSED' } }], [{ license: { name: 'SEE LICENSE IN x' } }]])(
    'is not written for a package with an unknown licence',
    (...licenses) => {
      expect(() => listLicences(bom({ ...part, licenses }), root)).toThrow(
        'packages with an unknown licence: zod 1.0.0',
      );
    },
  );
});

describe('the image', () => {
  it('contains the programs of the Dockerfile', () => {
    const script = readFileSync(join(root, 'scripts/image/collect.sh'), 'utf8');
    const [, programs] = /^programs='(.*)'$/m.exec(script)!;
    expect(imagePrograms).toEqual(programs!.split(' '));
  });

  it('takes the same Debian packages for every architecture', () => {
    const { amd64, arm64 } = readDebianLock().packages;
    const names = (list: typeof amd64) => list.map(({ name }) => name);
    expect(names(arm64)).toEqual(names(amd64));
    expect(amd64.every(({ path }) => /_(?:amd64|all)\.deb$/.test(path))).toBe(true);
    expect(arm64.every(({ path }) => /_(?:arm64|all)\.deb$/.test(path))).toBe(true);
  });
});

describe('a reference of an image', () => {
  it.each([
    ['ghcr.io/team/gatewright:0.1.0', 'ghcr.io', 'team/gatewright', '0.1.0', null],
    ['127.0.0.1:5000/gatewright', '127.0.0.1:5000', 'gatewright', null, null],
    [
      `localhost:5000/a/b@sha256:${'0'.repeat(64)}`,
      'localhost:5000',
      'a/b',
      null,
      `sha256:${'0'.repeat(64)}`,
    ],
  ])('%s is parsed', (text, host, repository, tag, digest) => {
    expect(parseImageReference(text)).toEqual({ host, repository, tag, digest });
  });

  it.each([
    'gatewright',
    'ghcr.io/a b',
    'ghcr.io/a@sha256:12',
    'https://ghcr.io/a',
    'ghcr.io/../a:',
  ])('%s is not one', (text) => {
    expect(parseImageReference(text)).toBeNull();
  });
});
