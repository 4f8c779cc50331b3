/** Verifies that the live log shows each request once while hundreds a second end, also those that are stored late. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { idFromBytes } from '../../src/model/wire/ids.ts';
import { missingChromium } from '../support/console/chromium.ts';
import {
  type ConsoleWorld,
  openConsoleWorld,
  type Visit,
  visitConsole,
} from '../support/console/console-visit.ts';
import { addManyKeys, addManyRequests } from '../support/console/many-rows.ts';
import { titleWithReason } from '../support/run/missing-program.ts';

const everyMs = 2000;
/** 500 requests a second. */
const requestsOfRound = 1000;
const lateOfRound = 20;
/** As long as rows may wait on the disk of a gateway. */
const lateMs = 30_000;
const rowsMax = 5000;
const rowsOfPage = 100;

const missing = missingChromium();

describe.skipIf(missing !== null)(titleWithReason('the live log', missing), () => {
  let world: ConsoleWorld;
  let visit: Visit;
  let apiKeyIds: readonly string[];
  let lastEndedAt: number;
  beforeAll(async () => {
    world = await openConsoleWorld();
    apiKeyIds = await addManyKeys(world.server, 50);
    lastEndedAt = world.server.clock.now();
    visit = await visitConsole(world);
    await visit.page.clock.install({ time: lastEndedAt });
    await visit.open('/logs?live=1');
  });
  afterAll(() => world[Symbol.asyncDispose]());

  /** Three gateways write requests of the same two seconds, and one of them rows that have waited on its disk. */
  const endRequests = async (): Promise<void> => {
    lastEndedAt += everyMs;
    const { server } = world;
    const third = { count: requestsOfRound / 4, apiKeyIds };
    await Promise.all([
      addManyRequests(server, { ...third, count: requestsOfRound / 2, lastEndedAt }),
      addManyRequests(server, { ...third, lastEndedAt: lastEndedAt - 1 }),
      addManyRequests(server, { ...third, lastEndedAt: lastEndedAt - everyMs / 2 }),
      addManyRequests(server, { count: lateOfRound, apiKeyIds, lastEndedAt: lastEndedAt - lateMs }),
    ]);
  };

  const passRound = () => visit.page.clock.runFor(everyMs);
  const countText = () => visit.page.getByText(/^Page 1, [\d,]+ in all$/).textContent();

  /** Ids on all pages of the tail, from the newest on. */
  const idsOnPages = async (): Promise<string[]> => {
    const { page } = visit;
    const ids: string[] = [];
    for (let number = 1; ; number += 1) {
      await page.getByText(new RegExp(`^Page ${number},`)).waitFor();
      const links = page.locator('main tbody tr td:first-child a');
      ids.push(...(await links.evaluateAll((all) => all.map((one) => one.getAttribute('href')!))));
      const next = page.getByRole('button', { name: 'Next' });
      if (await next.isDisabled()) break;
      await next.click();
    }
    while (!(await page.getByRole('button', { name: 'Previous' }).isDisabled())) {
      await page.getByRole('button', { name: 'Previous' }).click();
    }
    return ids.map((href) => href.replace('#/logs/', ''));
  };

  const storedIds = async (): Promise<string[]> => {
    const rows = await world.server.database.db
      .selectFrom('request_logs')
      .select('id')
      .orderBy('ended_at', 'desc')
      .orderBy('id', 'desc')
      .limit(rowsMax)
      .execute();
    return rows.map(({ id }) => idFromBytes(id));
  };

  /** Lets rounds pass until one has had nothing to read. A round begins after the one before has ended. */
  const settle = async (): Promise<void> => {
    const { page, requests } = visit;
    const batches = 'GET /v1/logs/batches';
    requests.length = 0;
    while (requests.at(-1) !== batches || requests.at(-2) !== batches) {
      // A round that is still reading asks for no batches.
      const replied = page
        .waitForResponse('**/v1/logs/batches*', { timeout: 10_000 })
        .catch(() => null);
      await passRound();
      await replied;
    }
  };

  it('shows each of 500 requests a second once, and those that become visible late', async () => {
    for (let round = 0; round < 4; round += 1) {
      await Promise.all([endRequests(), passRound()]);
    }
    await settle();
    const total = 4 * (requestsOfRound + lateOfRound);
    expect(await countText()).toBe(`Page 1, ${total} in all`);
    expect(await idsOnPages()).toEqual(await storedIds());
    expect(visit.errors).toEqual([]);
  });

  it('holds the newest 5,000 requests, and puts at most a page of them on screen', async () => {
    await endRequests();
    await settle();
    expect(await countText()).toBe(`Page 1, ${rowsMax} in all`);
    expect(await idsOnPages()).toEqual(await storedIds());
    expect(await visit.page.locator('main tbody tr').count()).toBe(rowsOfPage);
  });

  it('asks for nothing but times while no request ends', async () => {
    visit.requests.length = 0;
    for (let round = 0; round < 5; round += 1) {
      const replied = visit.page.waitForResponse('**/v1/logs/batches*');
      await passRound();
      await replied;
    }
    expect(new Set(visit.requests)).toEqual(new Set(['GET /v1/logs/batches']));
    expect(visit.requests).toHaveLength(5);
  });

  it('leaves an older page still while new requests arrive', async () => {
    const { page } = visit;
    await page.getByRole('button', { name: 'Next' }).click();
    const first = page.locator('main tbody tr td:first-child a').first();
    const before = await first.getAttribute('href');
    await endRequests();
    const replied = page.waitForResponse('**/v1/logs?*');
    await passRound();
    await replied;
    expect(await first.getAttribute('href')).toBe(before);
    await page.getByRole('button', { name: 'Previous' }).click();
    const [newest] = await storedIds();
    await expect.poll(() => first.getAttribute('href')).toBe(`#/logs/${newest}`);
  });

  it('catches up after more requests have ended than a round reads', async () => {
    lastEndedAt += everyMs;
    await addManyRequests(world.server, { count: 2200, lastEndedAt, apiKeyIds });
    await settle();
    expect(await visit.page.getByText('More requests end than are read').count()).toBe(0);
    expect(await idsOnPages()).toEqual(await storedIds());
  });

  it('asks nothing while the tab is hidden', async () => {
    const { page } = visit;
    await page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: 'hidden' })`);
    await page.waitForLoadState('networkidle');
    visit.requests.length = 0;
    await page.clock.runFor(10 * everyMs);
    expect(visit.requests).toEqual([]);
  });

  it('ends with the session', async () => {
    const other = await visitConsole(world);
    await other.open('/logs?live=1');
    const end = `fetch('/v1/session', { method: 'DELETE' }).then((one) => one.status)`;
    expect(await other.page.evaluate(end)).toBe(200);
    await other.page.getByRole('link', { name: 'Sign in' }).waitFor();
    expect(await other.page.locator('table').count()).toBe(0);
    await other.context.close();
  });
});
