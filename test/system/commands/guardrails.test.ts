/** Tests `gatewright guardrails test` against manifests, other manifests and the guardrails of a server. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestServer } from '../../support/server/server.ts';
import { startSyncServer } from '../../support/sync/sync-setup.ts';
import { type CliResult, runCli } from './run-cli.ts';

let server: TestServer;
let folder: string;

const guardrailWith = (words: string) => `apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: support}
spec: {name: Support}
---
apiVersion: gatewright.dev/v1
kind: Guardrail
metadata: {name: words, workspace: support}
spec:
  name: Words
  checks:
    - id: default.contains
      parameters: {words: [${words}], operator: none}
    - id: default.webhook
      parameters: {webhookURL: 'https://judge.example.com/'}
  actions: {deny: true, mode: monitor}
`;

beforeAll(async () => {
  server = await startSyncServer();
  folder = mkdtempSync(join(tmpdir(), 'gatewright-guardrails-'));
  write('old/all.yaml', guardrailWith('bomb'));
  write('new/all.yaml', guardrailWith('bomb, rocket'));
  write(
    'corpus.jsonl',
    [
      { text: 'a bomb' },
      { request: { model: 'm', messages: [{ role: 'user', content: 'a rocket' }] } },
      { messages: [{ role: 'user', content: 'hello' }] },
      { response: { choices: [{ message: { content: 'a rocket' } }] } },
    ]
      .map((entry) => JSON.stringify(entry))
      .join('\n'),
  );
  write(
    '.gatewright/credentials.json',
    JSON.stringify({
      baseUrl: `${server.url}/v1`,
      adminBaseUrl: server.url,
      authUrl: server.url,
      iamUrl: server.url,
      tsgId: server.tsgId,
      clientId: server.clientId,
      clientSecret: server.clientSecret,
      organisationApiKey: server.organisationApiKey,
    }),
  );
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server[Symbol.asyncDispose]();
});

function write(path: string, text: string): void {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), text);
}

const run = (...words: string[]): Promise<CliResult> => runCli(words, null, { cwd: folder });
const replayCorpus = (...words: string[]) => run('guardrails', 'test', 'corpus.jsonl', ...words);

const changes = `support/words: of 4 entries 1 pass, 0 pass changed, 0 fail, 3 are denied
  not run without --remote: default.webhook
  2 would change
    line 2  passed → denied
    line 4  passed → denied
`;

it('counts the verdicts, and calls no service of a check', async () => {
  expect(await replayCorpus('old')).toEqual({
    exitCode: 0,
    stderr: '',
    stdout: `support/words: of 4 entries 3 pass, 0 pass changed, 0 fail, 1 are denied
  not run without --remote: default.webhook
`,
  });
});

it('tells what would change against other manifests, and exits with 2', async () => {
  expect(await replayCorpus('new', '--before', 'old')).toEqual({
    exitCode: 2,
    stderr: '',
    stdout: changes,
  });
  const { stdout } = await replayCorpus('new', '--before', 'old', '-o', 'json');
  expect(JSON.parse(stdout)).toMatchObject({
    guardrails: [
      { name: 'support/words', verdicts: { passed: 1, denied: 3 }, changes: [{ line: 2 }, {}] },
    ],
  });
});

it('tells what would change against the guardrails of the server', async () => {
  expect((await run('apply', 'old', '--yes')).exitCode).toBe(0);
  expect(await replayCorpus('new', '--live')).toEqual({ exitCode: 2, stderr: '', stdout: changes });
  expect((await replayCorpus('old', '--live')).exitCode).toBe(0);
});

it('names the place of a fault', async () => {
  write('bad.jsonl', '{"text":"x"}\nnothing');
  const bad = await run('guardrails', 'test', 'bad.jsonl', 'old');
  expect(bad).toMatchObject({ exitCode: 5, stdout: '' });
  expect(bad.stderr).toContain('bad.jsonl:2 is not a JSON object');
  const unknown = await replayCorpus('old', '--guardrail', 'other');
  expect(unknown.exitCode).toBe(5);
  expect(unknown.stderr).toContain('--guardrail other: no guardrail');
});
