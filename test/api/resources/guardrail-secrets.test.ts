/**
 * Verifies that headers and credentials of checks in saved guardrails are sealed, masked in every response, kept
 * by a mask only for the address that they are sent to already, and compared by sync without being shown.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sealPlainDocuments } from '../../../src/auth/plain-documents.ts';
import { guardrailSecrets } from '../../../src/model/guardrails/check-secrets.ts';
import { dumpDatabase } from '../../support/database/dump.ts';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { logIsWritten } from '../../support/server/request-log.ts';
import { desiredFrom, openSync, type SyncSetup } from '../../support/sync/sync-setup.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

const canary = 'canary-of-a-check';
const mask = '********';
let inference: Inference;
let sync: SyncSetup;
beforeAll(async () => {
  inference = await startInference();
  sync = openSync(inference.server);
});
afterAll(async () => {
  await sync[Symbol.asyncDispose]();
  await inference[Symbol.asyncDispose]();
});

const send = (method: string, path: string, body?: object) =>
  inference.server.request(method, path, body === undefined ? {} : { body });
const put = (id: string, checks: object[]) => send('PUT', `/v2/guardrails/${id}`, { checks });

const webhook = (token: string, more: object = {}, name?: string) => ({
  id: 'default.webhook',
  ...(name === undefined ? {} : { name }),
  parameters: { webhookURL: `${inference.upstream.url}/hook`, headers: { token }, ...more },
});

async function make(checks: object[], target = 'llm'): Promise<{ id: string; slug: string }> {
  const body = { name: 'sealed', target, checks, actions: { deny: true } };
  const made = await send('POST', '/v2/guardrails', body);
  expect(made).toMatchObject({ status: 200 });
  return made.body;
}

async function storedTexts(id: string): Promise<string> {
  const { db } = inference.server.database;
  const rows = await db.selectFrom('guardrails').select('checks').where('id', '=', id).execute();
  const versions = await db.selectFrom('guardrail_versions').select('checks').execute();
  return JSON.stringify([rows, versions]);
}

/** The headers of the webhook that a request with this guardrail calls. */
async function hookHeaders(slug: string) {
  inference.upstream.script = ({ url }, response) =>
    sendJson(response, url.endsWith('/hook') ? { verdict: true } : chatAnswer);
  const { key } = await inference.addKey();
  expect((await inference.chat(key, { config: { input_guardrails: [slug] } })).status).toBe(200);
  return inference.upstream.reached.findLast(({ url }) => url.endsWith('/hook'))!.headers;
}

describe('every secret of a guardrail', () => {
  /** A check with a secret at the place of a pattern. */
  const checkWith = (pattern: string, secret: string) => {
    const [, , , member] = pattern.split('.');
    const { id } = webhook('');
    const parameters = { webhookURL: 'https://hooks.example.com/a', [member!]: { x: secret } };
    return { id, parameters };
  };

  it('appears in no response, audit row, log line or table', async () => {
    const seen: unknown[] = [];
    for (const [at, pattern] of guardrailSecrets.entries()) {
      const checks = [checkWith(pattern, `canary-${at}-a`), checkWith(pattern, `canary-${at}-b`)];
      const body = { name: pattern, checks, actions: { deny: true } };
      const made = await send('POST', '/v2/guardrails', body);
      expect([pattern, made.status, made.body]).toEqual([pattern, 200, expect.anything()]);
      for (const mount of ['v1', 'v2', 'admin/v2']) {
        const record = await send('GET', `/${mount}/guardrails/${made.body.id}`);
        expect(JSON.stringify(record.body).split(mask)).toHaveLength(3);
        seen.push(record);
      }
      const { body: record } = await send('GET', `/v2/guardrails/${made.body.id}`);
      const again = await put(made.body.id, [...record.checks, { id: 'default.notNull' }]);
      expect([pattern, again.status, again.body]).toEqual([pattern, 200, expect.anything()]);
      seen.push(made, again);
    }
    for (const mode of ['independent', 'atomic']) {
      const body = { name: 'set', checks: [webhook(canary)], actions: { deny: true } };
      const change = { kind: 'Guardrail', action: 'create', body };
      const set = await send('POST', '/admin/v2/gatewright/changes', { mode, changes: [change] });
      expect([set.status, set.body.applied]).toEqual([200, 1]);
      seen.push(set);
    }
    for (const path of [
      '/v2/guardrails',
      '/admin/v2/gatewright/snapshot?owner=platform',
      '/v1/audit-logs',
    ]) {
      seen.push(await send('GET', path));
    }
    const { logLines, database } = inference.server;
    const text = JSON.stringify([seen, logLines]) + (await dumpDatabase(database.db));
    expect(text.match(/.{0,80}canary-.{0,40}/)).toBeNull();
    expect(JSON.stringify(seen)).not.toContain('$sealed');
  });

  it('reaches the webhook in plain text, and stays out of the log row', async () => {
    const { slug } = await make([webhook(canary)]);
    expect((await hookHeaders(slug)).token).toBe(canary);
    await logIsWritten(inference.server);
    const { logLines, database } = inference.server;
    expect(JSON.stringify(logLines) + (await dumpDatabase(database.db))).not.toContain(canary);
  });
});

describe('a mask in a guardrail', () => {
  it('keeps the value when another parameter or the order of checks changes', async () => {
    const other = { id: 'default.contains', parameters: { words: ['x'], operator: 'none' } };
    const { id, slug } = await make([webhook('first', {}, 'one'), webhook(canary, {}, 'two')]);
    const moved = [other, webhook(mask, { timeout: 900 }, 'two')];
    expect(await put(id, moved)).toMatchObject({ status: 200 });
    expect((await hookHeaders(slug)).token).toBe(canary);
  });

  it('is refused when the address gets another origin, or where no value is stored', async () => {
    const { id } = await make([webhook(canary)]);
    const elsewhere = { webhookURL: 'https://other.example/hook' };
    const moved = await put(id, [webhook(mask, elsewhere)]);
    const param = 'checks[0].parameters.headers.token';
    expect([moved.status, moved.body.error.param]).toEqual([400, param]);
    expect(moved.body.error.message).toContain('must be sent again');
    const otherCheck = await put(id, [
      {
        ...webhook(mask),
        id: 'default.log',
        parameters: { logURL: 'https://a.example', headers: { token: mask } },
      },
    ]);
    expect([otherCheck.status, otherCheck.body.error.param]).toEqual([400, param]);
    expect(await put(id, [webhook('new', elsewhere)])).toMatchObject({ status: 200 });
    const body = { name: 'masked', checks: [webhook(mask)], actions: { deny: true } };
    const made = await send('POST', '/v2/guardrails', body);
    expect([made.status, made.body.error.param]).toEqual([400, param]);
  });

  it('changes nothing when the record is sent as it was read', async () => {
    const { id } = await make([webhook(canary)]);
    const before = await send('GET', `/v1/guardrails/${id}`);
    const again = await put(id, before.body.checks);
    expect(again.body.version_id).toBe(before.body.version_id);
  });
});

describe('a guardrail whose secrets an older version stored as text', () => {
  async function makePlain(): Promise<{ id: string; slug: string }> {
    const made = await make([webhook(canary)]);
    const { db } = inference.server.database;
    const checks = JSON.stringify([webhook(canary)]);
    await db.updateTable('guardrails').set({ checks }).where('id', '=', made.id).execute();
    await db.updateTable('guardrail_versions').set({ checks }).execute();
    expect(await storedTexts(made.id)).toContain(canary);
    return made;
  }

  it('works, is masked, and is sealed when it is next written', async () => {
    const { id, slug } = await makePlain();
    const { body } = await send('GET', `/v1/guardrails/${id}`);
    expect(body.checks).toEqual([webhook(mask)]);
    expect((await hookHeaders(slug)).token).toBe(canary);
    expect(await put(id, body.checks)).toMatchObject({ status: 200 });
    const { db } = inference.server.database;
    const row = await db.selectFrom('guardrails').select('checks').where('id', '=', id).execute();
    expect(JSON.stringify(row)).not.toContain(canary);
  });

  it('is sealed with all its versions by a rotation, without a new version', async () => {
    const { id } = await makePlain();
    const before = await send('GET', `/v2/guardrails/${id}`);
    const { database, app } = inference.server;
    const { signal } = new AbortController();
    expect(await sealPlainDocuments(database, app.keyring, signal)).toBeGreaterThan(1);
    expect(await storedTexts(id)).not.toContain(canary);
    const after = await send('GET', `/v2/guardrails/${id}`);
    expect([after.body, after.headers.etag]).toEqual([before.body, before.headers.etag]);
    expect(await sealPlainDocuments(database, app.keyring, signal)).toBe(0);
  });
});

describe('a manifest of a guardrail with secrets', () => {
  const manifest = `
apiVersion: gatewright.dev/v1
kind: Guardrail
metadata: {name: hooked}
spec:
  checks:
    - id: default.webhook
      parameters:
        webhookURL: https://hooks.example/a
        headers: {x-token: {valueFrom: {env: GW_VAR_HOOK}}, accept: application/json}
  actions: {deny: true}
`;
  const changes = async (value: string) => {
    const result = await sync.cycle(await desiredFrom(manifest, { GW_VAR_HOOK: value }));
    expect(JSON.stringify(result.plan)).not.toContain(value);
    return result.plan.changes.map(({ action, fields }) => [
      action,
      fields.map(({ path }) => path),
    ]);
  };

  it('is created, then equal, and updated when the value is rotated', async () => {
    expect(await changes('canary-hook-1')).toMatchObject([['create', expect.anything()]]);
    expect(await changes('canary-hook-1')).toEqual([]);
    const [[action, paths]] = (await changes('canary-hook-2')) as [[string, string[]]];
    expect(action).toBe('update');
    expect(paths).toEqual(['/checks/0/parameters/headers/x-token']);
    expect(await changes('canary-hook-2')).toEqual([]);
    expect(await dumpDatabase(inference.server.database.db)).not.toContain('canary-hook');
  });
});
