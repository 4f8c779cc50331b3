/** Verifies that the console stays within pages of lists, however many rows these have. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingChromium } from '../support/console/chromium.ts';
import {
  type ConsoleWorld,
  openConsoleWorld,
  type Visit,
  visitConsole,
} from '../support/console/console-visit.ts';
import { addManyKeys, addManyRequests } from '../support/console/many-rows.ts';
import { titleWithReason } from '../support/run/missing-program.ts';

const keys = 10_000;
const requests = 20_000;
/** Place of the key that spends most. */
const spenderAt = 7777;
const rowsOfPage = 50;
/** The longest list that any page may read, which is the longest page of the API. */
const rowsMax = 100;

const missing = missingChromium();

describe.skipIf(missing !== null)(titleWithReason('a console of many rows', missing), () => {
  let world: ConsoleWorld;
  let visit: Visit;
  /** Path and rows of each list that the browser has received. */
  let lists: { readonly path: string; readonly rows: number }[];
  /** Replies that are being read. */
  let reading: Promise<void>[];
  let apiKeyIds: readonly string[];
  beforeAll(async () => {
    world = await openConsoleWorld();
    const { server } = world;
    apiKeyIds = await addManyKeys(server, keys);
    const lastEndedAt = server.clock.now() - 2000;
    await addManyRequests(server, { count: requests, lastEndedAt, apiKeyIds });
    const spender = [apiKeyIds[spenderAt]!];
    await addManyRequests(server, {
      count: 1,
      lastEndedAt,
      apiKeyIds: spender,
      costUnits: 2_500_000,
    });
    visit = await visitConsole(world);
    lists = [];
    reading = [];
    visit.page.on('response', (response) => {
      const { pathname } = new URL(response.url());
      if (!pathname.startsWith('/v1/')) return;
      const record = (body: { data?: unknown }): void => {
        if (!Array.isArray(body.data)) return;
        lists.push({ path: pathname, rows: body.data.length });
      };
      reading.push(response.json().then(record, () => {}));
    });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const rows = () => visit.page.locator('main tbody tr').filter({ has: visit.page.locator('td') });
  const firstRequest = () => visit.page.locator('main tbody a').first().getAttribute('href');

  it('reads at most a page of any list, on every page of the navigation', async () => {
    const links = visit.page.locator('nav a');
    const addresses = await links.evaluateAll((all) =>
      all.map((one) => one.getAttribute('href')!.slice(1)),
    );
    for (const address of addresses) {
      lists.length = 0;
      await visit.open(address);
      await Promise.all(reading);
      expect([address, lists.filter(({ rows: count }) => count > rowsMax)]).toEqual([address, []]);
      const own =
        visit.requests.length <= 3 ? visit.requests.length : await visit.countRequests(address);
      expect([address, own <= 3]).toEqual([address, true]);
    }
    expect(addresses).toContain('/logs');
  });

  it('shows one page of the log after the other, each with one request', async () => {
    await visit.open('/logs');
    const first = await firstRequest();
    expect(await rows().count()).toBe(rowsOfPage);
    visit.requests.length = 0;
    await visit.page.getByRole('button', { name: 'Next' }).click();
    await visit.page.getByText('Page 2').waitFor();
    expect(await rows().count()).toBe(rowsOfPage);
    expect(await firstRequest()).not.toBe(first);
    expect(visit.requests).toEqual(['GET /v1/logs']);
    await visit.page.getByRole('button', { name: 'Previous' }).click();
    await visit.page.getByText('Page 1').waitFor();
    expect(await firstRequest()).toBe(first);
  });

  it('names the key that spends most since yesterday after one click', async () => {
    await visit.open('/');
    await visit.page.getByRole('link', { name: 'Usage' }).click();
    const first = visit.page
      .getByRole('region', { name: 'Usage by key' })
      .locator('tbody tr')
      .first();
    await expect.poll(() => first.locator('td').first().textContent()).toBe(`key ${spenderAt}`);
    expect(await first.locator('[data-name="Cost"]').textContent()).toBe('$2.50');
  });

  it('finds a key by its name among all keys, and narrows the log to it', async () => {
    await visit.open('/logs');
    lists.length = 0;
    await visit.page.getByLabel('Key', { exact: true }).fill(`key ${spenderAt}`);
    const choice = `key ${spenderAt} (${apiKeyIds[spenderAt]})`;
    await visit.page.locator(`option[value="${choice}"]`).waitFor({ state: 'attached' });
    await visit.page.getByLabel('Key', { exact: true }).fill(choice);
    await expect.poll(() => rows().count()).toBe(requests / keys + 1);
    expect(
      lists.filter(({ path }) => path === '/v1/api-keys').map(({ rows: found }) => found),
    ).toEqual([1]);
  });
});
