/**
 * Verifies runs that send change sets: few requests, an outcome for each change, and atomic runs on
 * request.
 */
import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Fate, startFaultyProxy } from '../../../support/network/faulty-proxy.ts';
import type { TestServer } from '../../../support/server/server.ts';
import { shareSync } from '../../../support/sync/shared-sync.ts';
import { everyKind, type SyncSetup, withoutSets } from '../../../support/sync/sync-setup.ts';

let server: TestServer;
let sync: SyncSetup;

shareSync((shared) => {
  ({ server, sync } = shared);
});

const document = (kind: string, metadata: string, spec: string): string =>
  `---\napiVersion: gatewright.dev/v1\nkind: ${kind}\nmetadata: {${metadata}}\nspec: ${spec}\n`;
const config = (name: string, attempts: number | string = 1): string =>
  document('Config', `name: ${name}`, `{config: {retry: {attempts: ${attempts}}}}`);
const key = (name: string, more = ''): string =>
  document(
    'ApiKey',
    `name: ${name}`,
    `{${more}scopes: [completions.write], secretOutput: {file: {path: keys/${name}.key}}}`,
  );
const many = (count: number, write: (name: string) => string): string =>
  Array.from({ length: count }, (_, at) => write(`r${at}`)).join('');

const filesOfKeys = (): string[] =>
  readdirSync(sync.secretsFolder, { recursive: true, encoding: 'utf8' });
const outcomesOf = ({ report }: Awaited<ReturnType<SyncSetup['cycle']>>) =>
  Object.fromEntries(report!.items.map(({ id, status }) => [id, status]));

describe('a run with change sets', () => {
  it('creates many resources and keys with a handful of requests, and then has nothing to do', async () => {
    const source = many(110, (name) => config(name)) + many(40, (name) => key(`k-${name}`));
    const client = sync.openClient();
    const result = await sync.cycle(source, { client });
    expect(result.ending).toBe('success');
    // Token, snapshots, lease, status, six sets, proof and revision; a busy server causes some
    // retries.
    expect(client.requests).toBeLessThan(75);
    expect(client.writes).toBeGreaterThanOrEqual(6);
    expect(filesOfKeys().filter((name) => name.endsWith('.key'))).toHaveLength(40);
    expect(new Set(result.deliveries.map(({ state }) => state))).toEqual(new Set(['delivered']));
    expect((await sync.cycle(source, { act: false })).plan.changes).toEqual([]);
  });

  it('continues beside a rejected change, and holds back what references it', async () => {
    const integration = document(
      'McpIntegration',
      'name: crm, workspace: w',
      '{url: "http://127.0.0.1:1", authType: none, transport: http}',
    );
    const workspace = document('Workspace', 'name: w', '{}');
    const refers = document('McpServer', 'name: s, workspace: w', '{mcpIntegrationRef: crm}');
    const result = await sync.cycle(workspace + integration + refers + config('free'));
    expect(outcomesOf(result)).toEqual({
      'Config/free': 'done',
      'McpIntegration/w/crm': 'failed',
      'McpServer/w/s': 'blocked',
      'Workspace/w': 'done',
    });
    const blocked = result.report!.items.find(({ status }) => status === 'blocked');
    expect(blocked?.message).toBe('it depends on McpIntegration/w/crm, which was not done');
  });

  it('succeeds for two owners concurrently, each with its own resources', async () => {
    const client = sync.openClient({ owner: 'other' });
    const results = await Promise.all([
      sync.cycle(many(60, (name) => config(`one-${name}`))),
      sync.cycle(
        many(60, (name) => config(`two-${name}`)),
        { client },
      ),
    ]);
    expect(results.map(({ ending }) => ending)).toEqual(['success', 'success']);
    expect(await sync.cycle('', { client })).toMatchObject({ ending: 'success' });
  });
});

describe('an atomic run', () => {
  const isAtomic = true;

  it('creates a whole source in one request, including references and keys', async () => {
    const client = sync.openClient();
    const result = await sync.cycle(everyKind, { client, isAtomic });
    expect([result.ending, client.writes]).toEqual(['success', 1]);
    expect(result.deliveries.map(({ state }) => state)).toEqual(['delivered']);
    const changed = everyKind
      .replace('subType', 'subType')
      .replace('description: CRM tools', 'description: Other tools');
    expect(await sync.cycle(changed, { isAtomic })).toMatchObject({ ending: 'success' });
    expect((await sync.cycle(changed, { act: false })).plan.changes).toEqual([]);
  });

  it('replaces a key together with new references to it', async () => {
    const policy =
      document('Workspace', 'name: w', '{}') +
      document(
        'UsageLimitPolicy',
        'name: p, workspace: w',
        '{type: cost, creditLimit: 1, conditions: [{key: api_key, apiKeyRef: bot}], groupBy: [{key: api_key}]}',
      );
    expect(await sync.cycle(key('bot'))).toMatchObject({ ending: 'success' });
    const fixed = 'subType: user, userId: 0197c2a5-6f5e-7c3a-9d5e-1f2a3b4c5d6e, ';
    const client = sync.openClient();
    const result = await sync.cycle(key('bot', fixed) + policy, { client, isAtomic });
    expect([result.ending, client.writes, result.refusal?.message]).toEqual([
      'success',
      1,
      undefined,
    ]);
    expect((await sync.cycle(key('bot', fixed) + policy, { act: false })).plan.changes).toEqual([]);
  });

  it('changes nothing when anything is invalid, reports every position, and discards the new values', async () => {
    const wrong = (name: string): string =>
      document(
        'McpIntegration',
        `name: ${name}`,
        '{url: "http://127.0.0.1:1", authType: none, transport: http}',
      );
    const result = await sync.cycle(config('a') + wrong('b') + key('bot') + wrong('c'), {
      isAtomic,
    });
    expect(outcomesOf(result)).toEqual({
      'ApiKey/bot': 'blocked',
      'Config/a': 'blocked',
      'McpIntegration/b': 'failed',
      'McpIntegration/c': 'failed',
    });
    expect(result.ending).toBe('partialFailure');
    expect(filesOfKeys().filter((name) => name.includes('bot'))).toEqual([]);
    expect((await sync.cycle('', { act: false })).plan.owned).toBe(0);
    expect(await sync.cycle(config('a') + key('bot'), { isAtomic })).toMatchObject({
      ending: 'success',
    });
  });

  it('is executed once when its response is lost', async () => {
    const fateOf = (_: number, request: string): Fate =>
      request.endsWith('/gatewright/changes') && !isLost() ? 'cut-after' : 'pass';
    let seen = 0;
    const isLost = (): boolean => {
      seen += 1;
      return seen > 1;
    };
    await using proxy = await startFaultyProxy(server.url, fateOf);
    const { url } = proxy;
    const client = sync.openClient({ adminBaseUrl: url, baseUrl: `${url}/v1`, authUrl: url });
    const result = await sync.cycle(config('a') + key('bot'), { client, isAtomic });
    expect([result.ending, seen]).toEqual(['success', 2]);
    expect(result.deliveries.map(({ state }) => state)).toEqual(['delivered']);
  });

  it('is rejected before writing when it cannot be one transaction', async () => {
    const refusalOf = async (source: string, client = sync.openClient()) => {
      const result = await sync.cycle(source, { isAtomic, client });
      expect([result.ending, client.writes]).toEqual(['refusedByGuard', 0]);
      return result.refusal!.message;
    };
    const none = await refusalOf(config('a'), withoutSets(sync.openClient()));
    expect(none).toContain('this server takes no change sets');
    const over = await refusalOf(many(1001, (name) => config(name)));
    expect(over).toContain('1000 at most, and the plan has 1001');
    expect(await sync.cycle(key('bot'))).toMatchObject({ ending: 'success' });
    const rotated = key('bot', 'rotation: {generation: 2}, ');
    expect(await refusalOf(rotated)).toContain('a rotation takes several steps');
    const external = document('External', 'name: gone', '{kind: Guardrail, slug: pg-none-000000}');
    const refers = document(
      'Config',
      'name: c',
      '{config: {input_guardrails: [{guardrailRef: gone}]}}',
    );
    expect(await refusalOf(key('bot') + external + refers + config('a'))).toContain(
      'held back: Config/c',
    );
  });
});
