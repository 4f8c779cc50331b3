/** Verifies that no page runs or draws markup, with markup in every text that the schemas of the API permit. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingChromium } from '../support/console/chromium.ts';
import {
  type ConsoleWorld,
  openConsoleWorld,
  type Visit,
  visitConsole,
} from '../support/console/console-visit.ts';
import { forgeReplies } from '../support/console/hostile-replies.ts';
import { addManyKeys, addManyRequests } from '../support/console/many-rows.ts';
import { titleWithReason } from '../support/run/missing-program.ts';

const mark = 'ranforged';
const text = `"><img src=x onerror=${mark}=1 data-${mark}><b data-${mark}>{{7*7}}`;
const address = `javascript:globalThis.${mark}=1`;

const table = readFileSync(
  resolve(import.meta.dirname, '../../console/src/pages/pages.ts'),
  'utf8',
);
const patterns = [...table.matchAll(/pattern: '([^']+)'/g)].map(([, pattern]) => pattern!);

/** The page of client setup shows addresses of the session, and texts of the user. */
const withoutTexts = ['/setup'];

const missing = missingChromium();

describe.skipIf(missing !== null)(titleWithReason('a page of forged replies', missing), () => {
  let world: ConsoleWorld;
  let visit: Visit;
  let replaced: ReadonlySet<string>;
  beforeAll(async () => {
    world = await openConsoleWorld();
    const { server } = world;
    const apiKeyIds = await addManyKeys(server, 3);
    const lastEndedAt = server.clock.now() - 1000;
    await addManyRequests(server, { count: 3, lastEndedAt, apiKeyIds });
    visit = await visitConsole(world);
    ({ replaced } = await forgeReplies(visit.page, { text, address }));
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const parts: Readonly<Record<string, string>> = {
    owner: 'production',
    number: '2',
    kind: 'Config',
  };
  const addressOf = (pattern: string): string =>
    pattern.replaceAll(/:(\w+)/g, (_, name: string) => parts[name] ?? randomUUID());

  it.each(patterns)('%s shows texts as texts, and links nowhere', async (pattern) => {
    const { page, open, errors } = visit;
    errors.length = 0;
    // A page that is open already would not load again.
    await open('/setup');
    await open(addressOf(pattern));
    await page.locator('main details').evaluateAll((all) => {
      for (const one of all) one.setAttribute('open', '');
    });
    await page.waitForLoadState('networkidle');
    expect(await page.locator(`[data-${mark}], img, iframe, object, embed`).count()).toBe(0);
    expect(await page.evaluate(`Object.hasOwn(globalThis, '${mark}')`)).toBe(false);
    const links = await page
      .locator('a')
      .evaluateAll((all) => all.map((one) => one.getAttribute('href') ?? ''));
    expect(links.filter((href) => !/^(?:#\/|https?:\/\/|\/)/.test(href))).toEqual([]);
    expect(await page.getByText('This page failed').count()).toBe(0);
    expect(errors).toEqual([]);
    const isVisible = (await page.locator('main').getByText(`data-${mark}`).count()) > 0;
    expect(isVisible).toBe(!withoutTexts.includes(pattern));
  });

  it('covers the texts of people, service accounts, prompts, revisions and the audit log', () => {
    for (const place of [
      '/v1/admin/users/invites.data[].email',
      '/v1/audit-logs.data[]',
      '/admin/v2/service-accounts.data[].',
      '/admin/v2/gatewright/sync/revisions/{number}.',
      '/v1/logs/{logId}.prompt_slug',
    ]) {
      const found = [...replaced].filter((one) => one.startsWith(place));
      expect([place, found.length > 0]).toEqual([place, true]);
    }
    expect(replaced.size).toBeGreaterThan(300);
  });
});
