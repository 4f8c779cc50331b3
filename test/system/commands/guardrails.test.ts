/** Tests `gatewright guardrails test` against manifests, other manifests and the guardrails of a server. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Inference, startInference } from '../../support/server/inference.ts';
import type { TestServer } from '../../support/server/server.ts';
import { type CliResult, runCli } from './run-cli.ts';

let inference: Inference;
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
    - id: azure.pii
      parameters: {provider: azure}
    - id: portkey.pii
      parameters: {categories: [NAME], model: true}
  actions: {deny: true, mode: monitor}
`;

const judgingWords = (words: string, actions: string) => `apiVersion: gatewright.dev/v1
kind: Workspace
metadata: {name: support}
spec: {name: Support}
---
apiVersion: gatewright.dev/v1
kind: Guardrail
metadata: {name: logged, workspace: support}
spec:
  name: Logged
  checks:
    - id: default.contains
      parameters: {words: [${words}], operator: none}
  actions: {${actions}}
`;

beforeAll(async () => {
  inference = await startInference();
  ({ server } = inference);
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
  await inference[Symbol.asyncDispose]();
});

function write(path: string, text: string): void {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), text);
}

const run = (...words: string[]): Promise<CliResult> => runCli(words, null, { cwd: folder });
const replayCorpus = (...words: string[]) => run('guardrails', 'test', 'corpus.jsonl', ...words);

const changes = `support/words: of 4 entries 1 pass, 0 pass changed, 0 fail, 3 are denied
  not run: default.webhook, azure.pii, portkey.pii
  2 would change
    line 2  passed → denied
    line 4  passed → denied
`;

it('counts the verdicts, and calls no service of a check', async () => {
  expect(await replayCorpus('old')).toEqual({
    exitCode: 0,
    stderr: '',
    stdout: `support/words: of 4 entries 3 pass, 0 pass changed, 0 fail, 1 are denied
  not run: default.webhook, azure.pii, portkey.pii
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

it('tells from the log what other actions would have done', async () => {
  write('logged/all.yaml', judgingWords('bomb', 'deny: true, mode: monitor'));
  write('denying/all.yaml', judgingWords('bomb', 'deny: true'));
  write('other/all.yaml', judgingWords('bomb, rocket', 'deny: true'));
  expect((await run('apply', 'logged', '--yes')).exitCode).toBe(0);
  const { body: workspaces } = await server.request('GET', '/v2/admin/workspaces');
  const workspace = workspaces.data.find(({ name }: { name: string }) => name === 'Support');
  const { body } = await server.request('GET', `/v2/guardrails?workspace_id=${workspace.id}`);
  const { slug } = body.data.find(({ name }: { name: string }) => name === 'Logged');
  const { key } = await inference.addKey({ workspace_id: workspace.id });
  const config = { provider: 'mock-upstream', custom_host: inference.upstream.url };
  for (const content of ['a bomb', 'hello', 'a second bomb']) {
    const params = { messages: [{ role: 'user', content }] };
    const response = await inference.chat(key, {
      params,
      config: { ...config, input_guardrails: [slug] },
    });
    expect(response.status).toBe(200);
  }
  const figures = 'support/logged: of 3 requests in the log 1 passed, 2 failed in mode monitor, ';
  const counted = `${figures}0 failed, 0 were denied\n`;
  const compare = (path: string) => run('guardrails', 'test', '--since', '7d', path);
  await expect
    .poll(() => compare('logged'), { timeout: 30_000 })
    .toEqual({
      exitCode: 0,
      stderr: '',
      stdout: counted,
    });
  expect(await compare('denying')).toEqual({
    exitCode: 2,
    stderr: '',
    stdout: `${counted}  2 would change: monitored → denied\n`,
  });
  expect(await compare('other')).toEqual({
    exitCode: 0,
    stderr: '',
    stdout: `${counted}  its checks change, and the log has no bodies: judge a corpus\n`,
  });
  expect((await compare('old')).stdout).toBe(
    'support/words: not on the server, so it has judged nothing\n',
  );
});

it('asks for a corpus or a time', async () => {
  const { exitCode, stderr } = await run('guardrails', 'test');
  expect(exitCode).toBe(5);
  expect(stderr).toContain('name a corpus, or a time with --since 7d');
});
