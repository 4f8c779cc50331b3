/** Verifies trials of guardrails: what each check makes of a text, who may try, and that nothing is kept of it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { logIsWritten } from '../../support/server/request-log.ts';

let inference: Inference;

beforeAll(async () => {
  inference = await startInference();
});

beforeEach(() => {
  inference.upstream.reached.length = 0;
});

afterAll(() => inference[Symbol.asyncDispose]());

const contains = { id: 'default.contains', parameters: { words: ['bomb'], operator: 'none' } };

async function save(checks: readonly object[], actions: object = { deny: true }): Promise<string> {
  const body = { name: 'tried', checks, actions };
  const made = await inference.server.request('POST', '/v2/guardrails', { body });
  expect(made).toMatchObject({ status: 200 });
  return made.body.slug;
}

const attempt = (slug: string, body: object, more: object = {}) =>
  inference.server.request('POST', `/v2/guardrails/${slug}/test`, { body, ...more });

describe('POST /guardrails/{guardrailId}/test', () => {
  it('returns verdict, duration and explanation of each check', async () => {
    const slug = await save([
      contains,
      { id: 'default.wordCount', parameters: { maxWords: 9 } },
      { id: 'portkey.language', parameters: { language: 'eng_Latn' } },
      { id: 'default.contains', parameters: { words: ['x'] }, is_enabled: false },
    ]);
    const { status, body } = await attempt(slug, { text: 'a bomb' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ object: 'guardrail_trial', verdict: 'denied', text: 'a bomb' });
    expect(body.checks.map((one: Record<string, unknown>) => [one.id, one.verdict])).toEqual([
      ['default.contains', 'failed'],
      ['default.wordCount', 'passed'],
      ['portkey.language', 'unjudged'],
    ]);
    for (const { duration_ms: ms, explanation } of body.checks) {
      expect([typeof ms, explanation.length > 0]).toEqual(['number', true]);
    }
    expect((await attempt(slug, { text: 'a rose' })).body.verdict).toBe('passed');
  });

  it('judges a response where the text is one', async () => {
    const allowed = { blockedTypes: ['chat'] };
    const slug = await save([{ id: 'default.allowedRequestTypes', parameters: allowed }, contains]);
    const { body } = await attempt(slug, { text: 'a rose', side: 'output' });
    expect(body.checks).toHaveLength(2);
  });

  it('shows the text as the guardrail leaves it', async () => {
    const slug = await save([{ id: 'gatewright.pii', parameters: { redact: true } }]);
    const { body } = await attempt(slug, { text: 'mail to jane@example.org' });
    expect(body).toMatchObject({ verdict: 'changed', text: 'mail to {{EMAIL_ADDRESS_1}}' });
  });

  it('decides as if the guardrail did, although it only observes', async () => {
    for (const actions of [
      { deny: true, mode: 'monitor' },
      { deny: true, async: true },
    ]) {
      const slug = await save([contains], actions);
      expect((await attempt(slug, { text: 'a bomb' })).body.verdict).toBe('denied');
    }
    const lenient = await save([contains], { deny: false });
    expect((await attempt(lenient, { text: 'a bomb' })).body.verdict).toBe('failed');
  });

  it('calls no service, and says which checks it has skipped', async () => {
    const url = inference.upstream.url;
    const slug = await save([
      { id: 'default.webhook', parameters: { webhookURL: url } },
      {
        id: 'panw-prisma-airs.intercept',
        parameters: { endpoint: url, credentials: { AIRS_API_KEY: 'canary' } },
      },
      { id: 'gatewright.model' },
      contains,
    ]);
    const { body } = await attempt(slug, { text: `see ${url}` });
    expect(body.checks.map((one: { verdict: string }) => one.verdict)).toEqual([
      'skipped',
      'skipped',
      'skipped',
      'passed',
    ]);
    expect(JSON.stringify(body)).not.toContain('canary');
    expect(inference.upstream.reached).toEqual([]);
  });

  it('stores nothing: no log entry and no audit entry', async () => {
    const slug = await save([contains]);
    const audits = async () =>
      (await inference.server.request('GET', '/v1/audit-logs')).body.total as number;
    const before = await audits();
    await attempt(slug, { text: 'a canary in a trial' });
    await logIsWritten(inference.server);
    expect(await audits()).toBe(before);
    expect((await inference.server.request('GET', '/v1/logs')).body.data).toEqual([]);
  });

  it('is 400 for a text that is empty or too long, and for unknown members', async () => {
    const slug = await save([contains]);
    for (const body of [
      { text: '' },
      { text: 'x'.repeat(100_001) },
      { text: 'x', side: 'both' },
      { text: 'x', model: 'm' },
      {},
    ]) {
      expect(await attempt(slug, body)).toMatchObject({ status: 400 });
    }
  });

  it('is 404 for a guardrail that does not exist, and 429 while too many run', async () => {
    expect(await attempt('none', { text: 'x' })).toMatchObject({ status: 404 });
    const slug = await save([
      { id: 'default.regexMatch', parameters: { rule: '(a|aa)+$', not: true } },
      { id: 'portkey.language', parameters: { language: 'eng_Latn' } },
    ]);
    const text = 'word '.repeat(20_000);
    const all = await Promise.all(Array.from({ length: 30 }, () => attempt(slug, { text })));
    const statuses = new Set(all.map(({ status }) => status));
    expect([...statuses].toSorted()).toEqual([200, 429]);
  });
});
