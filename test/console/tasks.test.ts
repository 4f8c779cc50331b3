/** Verifies that operators answer frequent questions within three clicks from the overview. */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RequestLog } from '../../src/gateway/logs/request-log.ts';
import { missingChromium } from '../support/console/chromium.ts';
import {
  type ConsoleWorld,
  openConsoleWorld,
  type Visit,
  visitConsole,
} from '../support/console/console-visit.ts';
import { addManyKeys, addManyRequests } from '../support/console/many-rows.ts';
import { requestRecord } from '../support/rows/request-records.ts';
import { titleWithReason } from '../support/run/missing-program.ts';
import { leaseHeaders } from '../support/sync/lease.ts';
import { revisionBody, syncReport } from '../support/sync/sync-records.ts';

const missing = missingChromium();
const pictures = resolve(import.meta.dirname, '../../.cache/console-pictures/tasks');
const minuteMs = 60_000;
const tabsMax = 120;

describe.skipIf(missing !== null)(titleWithReason('a task in the console', missing), () => {
  let world: ConsoleWorld;
  let visit: Visit;
  beforeAll(async () => {
    world = await openConsoleWorld();
    const { server } = world;
    const now = server.clock.now();
    const apiKeyIds = await addManyKeys(server, 20);
    await addManyRequests(server, { count: 200, lastEndedAt: now - minuteMs, apiKeyIds });
    const spender = [apiKeyIds[7]!];
    const costUnits = 2_500_000;
    await addManyRequests(server, {
      count: 1,
      lastEndedAt: now - minuteMs,
      apiKeyIds: spender,
      costUnits,
    });
    await addDeniedRequest(world);
    const headers = await leaseHeaders(server.request, 'production');
    const status = '/admin/v2/gatewright/sync/status';
    await server.request('PUT', status, { body: syncReport(), headers });
    for (const commit of ['a'.repeat(40), 'b'.repeat(40)]) {
      const body = revisionBody({ commit });
      const path = '/admin/v2/gatewright/sync/revisions';
      const reply = await server.request('POST', path, { body, headers });
      expect(reply.status, JSON.stringify(reply.body)).toBe(200);
    }
    visit = await visitConsole(world);
    mkdirSync(pictures, { recursive: true });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  /** Starts at the overview and clicks links of the page in turn; ends with a picture of the result. */
  async function walk(task: string, links: readonly (string | RegExp)[]): Promise<void> {
    await visit.open('/');
    expect(links.length).toBeLessThanOrEqual(3);
    for (const name of links) {
      await visit.page
        .getByRole('link', { name, exact: typeof name === 'string' })
        .first()
        .click();
      await visit.page.waitForLoadState('networkidle');
    }
    await visit.page.screenshot({ path: join(pictures, `${task}.png`), fullPage: true });
  }

  it('finds the key that spends most since yesterday', async () => {
    await walk('spender', ['Cost']);
    const usage = visit.page.getByRole('region', { name: 'Usage by key' });
    const first = usage.locator('tbody tr').first();
    await expect.poll(() => first.locator('td').first().textContent()).toBe('key 7');
    expect(await first.locator('[data-name="Cost"]').textContent()).toBe('$2.50');
  });

  it('finds why a request was blocked', async () => {
    await walk('blocked', ['Denied by guardrails']);
    await visit.page.locator('main tbody a').first().click();
    const reason = visit.page.getByText('the guardrail rejected the request or its response');
    await reason.waitFor();
    await visit.page.screenshot({ path: join(pictures, 'blocked.png'), fullPage: true });
    expect(await visit.page.getByText('default.contains').count()).toBeGreaterThan(0);
  });

  it('finds the command that rolls the newest commit back', async () => {
    await walk('roll-back', ['Sync', '2']);
    await visit.page.getByText('gatewright rollback 1 --owner production').waitFor();
    expect(await visit.page.getByText('b'.repeat(40)).count()).toBeGreaterThan(0);
  });

  it('is done by keyboard alone, in a window of 320 pixels and dark colours', async () => {
    const small = await visitConsole(world, { width: 320, isDark: true });
    const { page } = small;
    /** Presses Tab until the link has the focus, then Enter. */
    const follow = async (name: string): Promise<void> => {
      const isThere = `document.activeElement?.matches('a') && document.activeElement.textContent.trim() === ${JSON.stringify(name)}`;
      for (let presses = 0; !(await page.evaluate<boolean>(isThere)); presses += 1) {
        expect([name, presses < tabsMax]).toEqual([name, true]);
        await page.keyboard.press('Tab');
      }
      await page.keyboard.press('Enter');
      await page.waitForLoadState('networkidle');
      await page.locator('.loading').first().waitFor({ state: 'detached' });
    };
    const keep = (task: string) =>
      page.screenshot({ path: join(pictures, `${task}-320-dark.png`), fullPage: true });
    await small.open('/');
    await follow('Cost');
    await page.getByText('$2.50').first().waitFor();
    await keep('spender');
    await small.open('/');
    await follow('Denied by guardrails');
    await follow((await page.locator('main tbody a').first().textContent())!.trim());
    await page.getByText('the guardrail rejected the request or its response').waitFor();
    await keep('blocked');
    await small.open('/');
    await follow('Sync');
    await follow('2');
    await page.getByText('gatewright rollback 1 --owner production').waitFor();
    await keep('roll-back');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
    expect(small.errors).toEqual([]);
    await small.context.close();
  });
});

async function addDeniedRequest({ server }: ConsoleWorld): Promise<void> {
  const { body: workspace } = await server.request('POST', '/v2/admin/workspaces', {
    body: { name: 'Support' },
  });
  const { body: guardrail } = await server.request('POST', '/v2/guardrails', {
    body: {
      name: 'No internal names',
      workspace_id: workspace.id,
      checks: [{ id: 'default.contains', parameters: { words: ['secret'], operator: 'none' } }],
      actions: { deny: true },
    },
  });
  const losses: unknown[] = [];
  const log = new RequestLog({
    database: server.database,
    onLoss: (error) => losses.push(error),
    bounds: { flushEveryMs: 1, retryMs: 1 },
  });
  const check = {
    guardrail: guardrail.id,
    check: 'default.contains',
    side: 'input',
    verdict: 'failed',
    is_monitored: false,
    duration_ms: 1,
  } as const;
  log.record(
    requestRecord(server.organisationId, {
      startedAt: server.clock.now() - minuteMs,
      status: 446,
      guardrailVerdict: 'denied',
      guardrails: new Map([[guardrail.id, 'denied']]),
      guardrailChecks: [check],
      tokens: null,
      costUnits: null,
    }),
  );
  await log.close(minuteMs);
  expect(losses).toEqual([]);
}
