/** Tests that nothing is read that no permitted key has signed, and that the refusal names the signing key. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import { openGit } from '../../../src/sync/source/git.ts';
import type { SignatureRules } from '../../../src/sync/source/git-signers.ts';
import type { Source } from '../../../src/sync/source/source-files.ts';
import { type GitServer, startGitServer } from '../../support/git/git-server.ts';
import {
  type Signer,
  SigningRoom,
  type SshSigner,
  signCommit,
  signTag,
} from '../../support/git/git-signers.ts';
import { missingProgram, titleWithReason } from '../../support/run/missing-program.ts';

const why = missingProgram(['gpg', 'ssh-keygen']);
let server: GitServer;
let room: SigningRoom;
let cacheDirectory: string;
let alice: Signer;
let bob: Signer;
let carol: SshSigner;
let dave: SshSigner;
let names = 0;

beforeAll(async () => {
  if (why !== null) return;
  server = await startGitServer();
  room = new SigningRoom();
  cacheDirectory = mkdtempSync(join(tmpdir(), 'gw-cache-'));
  alice = room.gpg('alice');
  bob = room.gpg('bob');
  carol = room.ssh();
  dave = room.ssh();
});

afterAll(async () => {
  if (why !== null) return;
  await server[Symbol.asyncDispose]();
  room[Symbol.dispose]();
  rmSync(cacheDirectory, { recursive: true, force: true });
});

function newRepository() {
  names += 1;
  const repository = server.repository(`signed-${names}`);
  repository.commit('main', { 'a.yaml': `a: ${names}\n` });
  return repository;
}

type Rules = Partial<SignatureRules>;

function open(location: string, rules: Rules): Source {
  const access = { caFile: server.caFile, signatures: { on: 'commit' as const, ...rules } };
  return openGit(location, { cacheDirectory, access });
}

const gpgFile = (...signers: Signer[]): string =>
  room.file(signers.map((signer) => room.exportGpg(signer)).join(''));
const sshLine = (signer: SshSigner, options = ''): string =>
  `${options === '' ? 'carol@example.com' : `carol@example.com ${options}`} ${signer.publicKey}\n`;
const sshFile = (...signers: SshSigner[]): string =>
  room.file(signers.map((signer) => sshLine(signer)).join(''));

async function failureOf(source: Source): Promise<Failure> {
  const outcome = await source.read().then(
    () => new Error('expected a failure'),
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(Failure);
  return outcome as Failure;
}

async function refusalOf(source: Source): Promise<string> {
  const failure = await failureOf(source);
  expect([failure.kind, failure.message]).toEqual(['refusedByGuard', failure.message]);
  return failure.message;
}

describe.skipIf(why !== null)(titleWithReason('a commit', why), () => {
  it('is accepted when signed by a permitted GPG or SSH key', async () => {
    const rules = { gpgKeysFile: gpgFile(alice, bob), allowedSignersFile: sshFile(carol) };
    for (const signer of [alice, bob, carol]) {
      const repository = newRepository();
      const commit = signCommit(repository, 'main', signer);
      const read = await open(repository.url, rules).read();
      expect([read.info.revision, read.files.length]).toEqual([commit, 1]);
    }
  });

  it('is verified in a local repository, too', async () => {
    const repository = newRepository();
    const rules = { allowedSignersFile: sshFile(carol) };
    const url = `file://${repository.git(['rev-parse', '--absolute-git-dir'])}`;
    expect(await refusalOf(open(url, rules))).toContain('is not signed.');
    const commit = signCommit(repository, 'main', carol);
    expect((await open(url, rules).read()).info.revision).toBe(commit);
  });

  it('is accepted with a certificate of a permitted authority, and rejected with another', async () => {
    const repository = newRepository();
    const key = room.ssh();
    room.run('ssh-keygen', [
      '-q',
      '-s',
      dave.keyFile,
      '-I',
      'erin',
      '-n',
      'erin',
      `${key.keyFile}.pub`,
    ]);
    const settings = ['gpg.format=ssh', `user.signingkey=${key.keyFile}-cert.pub`];
    signCommit(repository, 'main', { ...key, settings });
    const authority = (signer: SshSigner): string =>
      room.file(`erin cert-authority ${signer.publicKey}\n`);
    const read = await open(repository.url, { allowedSignersFile: authority(dave) }).read();
    expect(read.files.length).toBe(1);
    const message = await refusalOf(open(repository.url, { allowedSignersFile: authority(carol) }));
    expect(message).toContain('which is not permitted.');
  });

  it('is rejected without a signature before any file is fetched', async () => {
    const repository = newRepository();
    const rules = { gpgKeysFile: gpgFile(alice), allowedSignersFile: sshFile(carol) };
    const commit = repository.git(['rev-parse', 'main']);
    const message = await refusalOf(open(repository.url, rules));
    expect(message).toContain(`commit ${commit.slice(0, 12)} is not signed.`);
    expect(message).toContain(`GPG ${alice.fingerprint} (alice <alice@example.com>)`);
    expect(message).toContain(`SSH ${carol.fingerprint} (carol@example.com)`);
    const blob = repository.git(['rev-parse', 'main:a.yaml']);
    const tree = repository.git(['rev-parse', 'main^{tree}']);
    const held = room.run('sh', [
      '-c',
      `for d in "$1"/*.git; do git -C "$d" cat-file --batch-all-objects --batch-check; done`,
      'sh',
      cacheDirectory,
    ]);
    expect(held).toContain(commit);
    expect(held).not.toContain(blob);
    expect(held).not.toContain(tree);
  });

  it.each(['gpg', 'ssh'])(
    'is rejected when signed by a key that is not permitted: %s',
    async (form) => {
      const repository = newRepository();
      const signer = form === 'gpg' ? bob : dave;
      signCommit(repository, 'main', signer);
      const rules = { gpgKeysFile: gpgFile(alice), allowedSignersFile: sshFile(carol) };
      for (const some of [
        rules,
        { gpgKeysFile: rules.gpgKeysFile },
        { allowedSignersFile: rules.allowedSignersFile },
      ]) {
        const message = await refusalOf(open(repository.url, some));
        expect(message).toContain(`${signer.fingerprint}, which is not permitted.`);
      }
    },
  );

  it('is rejected when signed by an expired key, whatever date it carries', async () => {
    const old = room.gpg('old', '20200101T000000');
    const repository = newRepository();
    signCommit(repository, 'main', old);
    const message = await refusalOf(open(repository.url, { gpgKeysFile: gpgFile(old, alice) }));
    expect(message).toMatch(/GPG \w{40} \(old .*expired\), which expired on 2020-01-02\./);
    const other = newRepository();
    const text = other.git(['cat-file', 'commit', 'main']).replaceAll(/> \d+ /g, '> 1550000000 ');
    put(other, signText(`${text}\n`, carol, 'git'));
    const allowedSignersFile = room.file(sshLine(carol, 'valid-before="20200101"'));
    const second = await refusalOf(open(other.url, { allowedSignersFile }));
    expect(second).toContain(`${carol.fingerprint} (carol@example.com), which has expired.`);
  });

  it('is rejected when signed by a revoked key', async () => {
    const repository = newRepository();
    const mallory = room.gpg('mallory');
    signCommit(repository, 'main', mallory);
    const before = open(repository.url, { gpgKeysFile: gpgFile(mallory) });
    expect((await before.read()).files.length).toBe(1);
    room.revokeGpg(mallory);
    const message = await refusalOf(open(repository.url, { gpgKeysFile: gpgFile(mallory) }));
    expect(message).toMatch(/revoked\), which is revoked\./);
    signCommit(repository, 'main', carol);
    const rules = { allowedSignersFile: sshFile(carol) };
    expect((await open(repository.url, rules).read()).files.length).toBe(1);
    const revokedSignersFile = room.file(`${carol.publicKey}\n`);
    const second = await refusalOf(open(repository.url, { ...rules, revokedSignersFile }));
    expect(second).toContain(`${carol.fingerprint} (carol@example.com), which is revoked`);
    const gone = { ...rules, revokedSignersFile: '/nonexistent/revoked' };
    expect((await failureOf(open(repository.url, gone))).kind).toBe('invalidInput');
  });

  it('is rejected with a signature of other content, or for another purpose', async () => {
    for (const signer of [alice, carol]) {
      const repository = newRepository();
      const signed = signCommit(repository, 'main', signer);
      const text = repository.git(['cat-file', 'commit', signed]).replace(/signed$/, 'forged');
      put(repository, `${text}\n`);
      const rules = { gpgKeysFile: gpgFile(alice), allowedSignersFile: sshFile(carol) };
      expect(await refusalOf(open(repository.url, rules))).toMatch(
        /has a signature by (?:GPG|SSH) .* that does not match this content\./,
      );
    }
    const repository = newRepository();
    const text = `${repository.git(['cat-file', 'commit', 'main'])}\n`;
    put(repository, signText(text, carol, 'file'));
    const message = await refusalOf(open(repository.url, { allowedSignersFile: sshFile(carol) }));
    expect(message).toContain('that was made for "file", not for git.');
    const other = newRepository();
    signCommit(other, 'main', carol);
    const allowedSignersFile = room.file(sshLine(carol, 'namespaces="file"'));
    expect(await refusalOf(open(other.url, { allowedSignersFile }))).toContain(
      'which is permitted for other purposes than git.',
    );
  });

  it('has its signature text reported without terminal control characters', async () => {
    const repository = newRepository();
    const text = `${repository.git(['cat-file', 'commit', 'main'])}\n`;
    put(repository, signText(text, carol, 'git\u001b[2J\nGood'));
    const message = await refusalOf(open(repository.url, { allowedSignersFile: sshFile(carol) }));
    expect(message).toContain('made for "git\\u001b[2J\\u000aGood", not for git.');
  });

  it('is rejected when it only quotes a valid signature in its message', async () => {
    const repository = newRepository();
    const signed = signCommit(repository, 'main', carol);
    const text = repository.git(['cat-file', 'commit', signed]);
    const header = /\ngpgsig [\s\S]*END SSH SIGNATURE-----/.exec(text)?.[0] ?? '';
    put(repository, `${text.replace(header, '')}\n${header}\n`);
    const rules = { allowedSignersFile: sshFile(carol) };
    expect(await refusalOf(open(repository.url, rules))).toContain('is not signed.');
  });
});

describe.skipIf(why !== null)(titleWithReason('a tag', why), () => {
  it('is verified when tags must be signed, and its commit too when both must be', async () => {
    const repository = newRepository();
    const plain = repository.git(['rev-parse', 'main']);
    signTag(repository, 'v1', plain, alice);
    signTag(repository, 'v2', signCommit(repository, 'main', carol), alice);
    const rules = { gpgKeysFile: gpgFile(alice), allowedSignersFile: sshFile(carol) };
    const read = await open(`${repository.url}#v1`, { ...rules, on: 'tag' }).read();
    expect(read.info.revision).toBe(plain);
    const both = { ...rules, on: 'tag-and-commit' as const };
    expect((await open(`${repository.url}#v2`, both).read()).files.length).toBe(1);
    const half = await refusalOf(open(`${repository.url}#v1`, both));
    expect(half).toContain(`commit ${plain.slice(0, 12)} is not signed.`);
    const commitOnly = await refusalOf(open(`${repository.url}#v1`, rules));
    expect(commitOnly).toContain('is not signed.');
  });

  it('is rejected without a signature, or when published under another name', async () => {
    const repository = newRepository();
    const commit = repository.git(['rev-parse', 'main']);
    repository.git(['tag', 'plain', commit]);
    repository.git(['tag', '-a', '-m', 'x', 'unsigned', commit]);
    signTag(repository, 'v1', commit, alice);
    repository.git(['update-ref', 'refs/tags/v9', repository.git(['rev-parse', 'refs/tags/v1'])]);
    const rules = { gpgKeysFile: gpgFile(alice), on: 'tag' as const };
    const at = (tag: string) => open(`${repository.url}#${tag}`, rules);
    expect(await refusalOf(at('plain'))).toContain('refs/tags/plain is a tag without a signature.');
    expect(await refusalOf(at('unsigned'))).toContain('refs/tags/unsigned is not signed.');
    expect(await refusalOf(at('v9'))).toContain('refs/tags/v9 is signed as "v1"');
    for (const ref of ['main', commit]) {
      const failure = await failureOf(at(ref));
      expect(failure.kind).toBe('invalidInput');
      expect(failure.message).toContain('names no tag. Name one: URL#TAG');
    }
  });
});

describe.skipIf(why !== null)(titleWithReason('the permitted keys', why), () => {
  it('rereads the keys each time; other keys make another version of the same commit', async () => {
    const repository = newRepository();
    const commit = signCommit(repository, 'main', carol);
    const allowedSignersFile = sshFile(carol);
    const source = open(repository.url, { allowedSignersFile });
    const first = await source.newest();
    expect(first.revision).toBe(commit);
    expect((await source.read()).files.length).toBe(1);
    writeFileSync(allowedSignersFile, sshLine(dave));
    const second = await source.newest();
    expect(second.revision).toBe(commit);
    expect(second.signatures).not.toBe(first.signatures);
    expect(await refusalOf(source)).toContain(`SSH ${carol.fingerprint}, which is not permitted.`);
    writeFileSync(allowedSignersFile, sshLine(carol));
    expect(await source.newest()).toEqual(first);
    expect((await source.read()).files.length).toBe(1);
  });

  it.each([
    ['a file that is not there', '/nonexistent/keys', 'cannot be read (ENOENT)'],
    ['a file without a key', '', 'contains no'],
    ['a private key', '-----BEGIN PGP PRIVATE KEY BLOCK-----\n', 'contains a private key'],
  ])('%s is rejected with its setting', async (_, text, words) => {
    const repository = newRepository();
    signCommit(repository, 'main', carol);
    const file = text.startsWith('/') ? text : room.file(text);
    for (const [name, setting] of [
      ['gpgKeysFile', 'GATEWRIGHT_GIT_GPG_KEYS_FILE'],
      ['allowedSignersFile', 'GATEWRIGHT_GIT_ALLOWED_SIGNERS_FILE'],
    ] as const) {
      const failure = await failureOf(open(repository.url, { [name]: file }));
      expect(failure.kind).toBe('invalidInput');
      expect(failure.message).toContain(setting);
      expect(failure.message).toContain(words);
    }
  });

  it('costs one request when nothing has changed', async () => {
    const repository = newRepository();
    signCommit(repository, 'main', carol);
    const source = open(repository.url, { allowedSignersFile: sshFile(carol) });
    await source.read();
    const before = server.requests.length;
    await source.newest();
    const idle = server.requests.slice(before);
    expect(idle.filter(({ line }) => line.includes('/info/refs')).length).toBe(1);
    await source.read();
    const all = server.requests.slice(before);
    expect(all.filter(({ line }) => line.includes('/info/refs')).length).toBe(1);
  });
});

function signText(text: string, { keyFile }: SshSigner, purpose: string): string {
  const words = ['-Y', 'sign', '-q', '-n', purpose, '-f', keyFile];
  const signature = room.run('ssh-keygen', words, text).trimEnd().replaceAll('\n', '\n ');
  return text.replace('\n\n', `\ngpgsig ${signature}\n\n`);
}

function put(repository: ReturnType<typeof newRepository>, text: string): void {
  const words = ['hash-object', '-t', 'commit', '-w', '--stdin'];
  repository.git(['update-ref', 'refs/heads/main', repository.git(words, text)]);
}
