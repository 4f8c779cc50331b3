/** Tests the logs command: the latest requests, following, and escaped output. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { regionLogSink } from '../../../src/gateway/logs/log-sink.ts';
import { RequestLog } from '../../../src/gateway/logs/request-log.ts';
import type { RequestRecord } from '../../../src/gateway/logs/request-record.ts';
import { startOfTotalsStep } from '../../../src/model/logs/request-log.ts';
import { newId } from '../../../src/model/wire/ids.ts';
import * as loggedRegions from '../../../src/store/regions/logged-regions.ts';
import { createPki, type Pki } from '../../support/callers/pki.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { requestRecord } from '../../support/rows/request-records.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { spawnTestProcess } from '../../support/server/test-process.ts';
import { runCli } from './run-cli.ts';

let server: TestServer;
let folder: string;

beforeAll(async () => {
  server = await startTestServer();
  folder = mkdtempSync(join(tmpdir(), 'gatewright-logs-'));
  mkdirSync(join(folder, '.gatewright'));
  const credentials = {
    baseUrl: `${server.url}/v1`,
    adminBaseUrl: server.url,
    authUrl: server.url,
    iamUrl: server.url,
    tsgId: server.tsgId,
    organisationApiKey: server.organisationApiKey,
    clientId: server.clientId,
    clientSecret: server.clientSecret,
  };
  writeFileSync(join(folder, '.gatewright/credentials.json'), JSON.stringify(credentials));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server[Symbol.asyncDispose]();
});

/** Settings of a process of the region, beside those of its database. */
function regionSettings(pki: Pki): Record<string, string> {
  const authority = pki.authority('link');
  const { certPath, keyPath } = authority.issue({ name: 'region' });
  return {
    GATEWRIGHT_REGION: 'eu-west',
    GATEWRIGHT_LINK_URL: 'https://home.example.com:8443',
    GATEWRIGHT_LINK_CA_FILE: authority.certPath,
    GATEWRIGHT_LINK_CERT_FILE: certPath,
    GATEWRIGHT_LINK_KEY_FILE: keyPath,
  };
}

async function log(...entries: Partial<RequestRecord>[]): Promise<void> {
  const requestLog = new RequestLog({ database: server.database, onLoss: () => {} });
  for (const entry of entries) {
    const startedAt = server.clock.now() - 1_000;
    requestLog.record(requestRecord(server.organisationId, { startedAt, ...entry }));
  }
  await requestLog.close(60_000);
}

/** A key of a workspace. */
async function caller(): Promise<{ workspaceId: string; apiKeyId: string }> {
  const workspace = await server.request('POST', '/v1/admin/workspaces', {
    body: { name: 'desk' },
  });
  const { id, slug } = workspace.body as { id: string; slug: string };
  const body = { name: 'bot', scopes: ['completions.write'], workspace_id: slug };
  const key = await server.request('POST', '/v1/api-keys/workspace/service', { body });
  return { workspaceId: id, apiKeyId: (key.body as { id: string }).id };
}

const run = (...words: string[]) => runCli(['logs', ...words], null, { cwd: folder });

it('names the regions that have further requests, beside an empty list', async () => {
  const { db } = server.database;
  const organisation_id = server.organisationId;
  const last_hour = startOfTotalsStep(server.clock.now());
  await loggedRegions.note(db, { organisation_id, region: 'eu-west', last_hour });
  const { exitCode, stdout, stderr } = await run();
  expect([exitCode, stdout]).toEqual([0, 'No requests in the last 24 hours.\n']);
  expect(stderr).toBe(
    'Further requests are logged in eu-west: run `gatewright region-logs` in the region.\n',
  );
  await db.deleteFrom('logged_regions').execute();
});

it('shows the requests that a region has logged, in the region only', async () => {
  await using test = await createTestDatabase({ breaksRules: true });
  using pki = createPki();
  const env = regionSettings(pki);
  const organisationId = newId();
  const regionLogs = (...words: string[]) =>
    runCli(['region-logs', ...words], test.settings, { env });
  expect((await regionLogs()).stdout).toBe('No requests in region eu-west in the last 24 hours.\n');
  const requestLog = new RequestLog({
    database: test.database,
    sink: regionLogSink(test.database),
    onLoss: () => {},
  });
  for (const id of ['first', 'second']) {
    const startedAt = Date.now() - 1_000;
    requestLog.record(requestRecord(organisationId, { startedAt, id }));
  }
  await requestLog.close(60_000);
  const found = JSON.parse((await regionLogs('-o', 'json')).stdout);
  const traces = [{ trace_id: 'first' }, { trace_id: 'second' }];
  expect(found).toMatchObject({ region: 'eu-west', requests: traces });
  expect((await regionLogs('--trace', 'second')).stdout).toMatch(/ 200 .* second\n$/);
  expect((await regionLogs('--type', 'llm')).stdout).toMatch(/ PROVIDER +MODEL [\s\S]* second\n$/);
  expect((await regionLogs('--type', 'mcp')).stdout).toContain('No requests');
  expect((await regionLogs('--organisation', newId())).stdout).toContain('No requests');
  expect(await regionLogs('--organisation', 'acme')).toMatchObject({
    exitCode: 5,
    stderr: expect.stringContaining('--organisation "acme" is no id'),
  });
  expect(await runCli(['region-logs'], test.settings)).toMatchObject({
    exitCode: 5,
    stderr: expect.stringContaining('run it where GATEWRIGHT_REGION is set'),
  });
});

it('shows the latest requests with the given filters, and follows new ones', async () => {
  expect((await run()).stdout).toBe('No requests in the last 24 hours.\n');
  const tokens = { inputTokens: 1, outputTokens: 2, cachedInputTokens: 0, cacheWriteTokens: 0 };
  const earlierAttempts = [
    {
      provider: 'anthropic',
      service: 'anthropic',
      model: 'claude',
      targetPath: 'config.targets[0]',
      status: 500,
      tokens,
      costUnits: 1_200,
      isEstimated: false,
      priceOrigin: null,
    },
  ];
  await log(
    { id: 'first', durationMs: 10 },
    {
      id: 'second',
      model: 'a\u001b[31m\nb',
      status: 429,
      errorCode: 'rate_limit_exceeded',
      ...(await caller()),
      earlierAttempts,
    },
  );
  const all = await run();
  expect([all.exitCode, all.stderr]).toEqual([0, '']);
  const lines = all.stdout.trim().split('\n');
  expect(lines).toHaveLength(3);
  expect(lines[1]).toMatch(/ 200 +- +- +- +10 +openai +gpt-4o +10\+5 +0\.000125 +first$/);
  expect(lines[2]).toMatch(/ 429 +rate_limit_exceeded +ws-desk-\w+ +bot +/);
  expect(lines[2]).toContain('a\\u001b[31m\\u000ab');
  const refused = JSON.parse((await run('--status', '4xx', '-o', 'json')).stdout);
  expect(refused.requests).toMatchObject([{ trace_id: 'second', status: 429 }]);
  expect((await run('--type', 'mcp')).stdout).toBe('No requests in the last 24 hours.\n');
  expect(JSON.parse((await run('--type', 'llm', '-o', 'json')).stdout).requests).toHaveLength(2);
  const wide = (await run('-n', '1', '-o', 'wide')).stdout;
  expect(wide).toMatch(/ EARLIER [\s\S]* anthropic\/claude 500 0\.001200 /);
  const wrong = await run('--status', '4x');
  expect([wrong.exitCode === 0, wrong.stderr]).toEqual([false, expect.stringContaining('4xx')]);
  const child = spawnTestProcess([inject('builtProgram'), 'logs', '--follow', '-o', 'json'], {
    cwd: folder,
    env: {},
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const reported = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const traceOf = async () => JSON.parse((await reported.next()).value!).trace_id;
  expect([await traceOf(), await traceOf()]).toEqual(['first', 'second']);
  await log({ id: 'third' });
  expect(await traceOf()).toBe('third');
  await log({ id: 'late', durationMs: 0, startedAt: server.clock.now() - 20_000 });
  expect(await traceOf()).toBe('late');
  const mcp = { server: 'files', name: 'search_files' };
  await log({ id: 'call', provider: null, model: null, requestedModel: null, mcp });
  const calls = (await run('--type', 'mcp')).stdout;
  expect(calls).toMatch(/ SERVER +NAME [\s\S]* files +search_files /);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
  const line = `"${process.execPath}" "${inject('builtProgram')}" logs --follow | head -n 1`;
  const { stdout } = await promisify(execFile)('bash', ['-c', line], {
    cwd: folder,
    env: { PATH: process.env.PATH },
  });
  expect(stdout).toMatch(/^ENDED +STATUS +ERROR +WORKSPACE +KEY /);
});

it('shows what one guardrail has judged, by its own verdict', async () => {
  const made = await server.request('POST', '/v2/guardrails', {
    body: { name: 'words', checks: [{ id: 'default.notNull' }], actions: {} },
  });
  const { id, slug } = made.body as { id: string; slug: string };
  await log(
    { id: 'judged-denied', guardrailVerdict: 'denied', guardrails: new Map([[id, 'denied']]) },
    { id: 'judged-passed', guardrailVerdict: 'denied', guardrails: new Map([[id, 'passed']]) },
    { id: 'not-judged', guardrailVerdict: 'denied' },
  );
  const traces = async (...words: string[]): Promise<string[]> => {
    const { stdout } = await run('--guardrail', slug, ...words, '-o', 'json');
    return JSON.parse(stdout).requests.map((row: { trace_id: string }) => row.trace_id);
  };
  expect((await traces()).toSorted()).toEqual(['judged-denied', 'judged-passed']);
  expect(await traces('--verdict', 'denied')).toEqual(['judged-denied']);
});
