/** Verifies every page of the console in a real browser, with markup in every name. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { AxeBuilder } from '@axe-core/playwright';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingChromium } from '../support/console/chromium.ts';
import {
  type ConsoleWorld,
  openConsoleWorld,
  type Visit,
  visitConsole,
} from '../support/console/console-visit.ts';
import {
  addHostileResources,
  type HostileResources,
} from '../support/console/hostile-resources.ts';
import { titleWithReason } from '../support/run/missing-program.ts';

const missing = missingChromium();

describe.skipIf(missing !== null)(titleWithReason('the console', missing), () => {
  let world: ConsoleWorld;
  let wide: Visit;
  let narrow: Visit;
  let hostile: HostileResources;
  /** Pages of the navigation, then those of single resources. */
  let addresses: readonly string[];
  beforeAll(async () => {
    world = await openConsoleWorld();
    hostile = await addHostileResources(world.server);
    wide = await visitConsole(world, { isDark: true });
    narrow = await visitConsole(world, { width: 320 });
    const links = wide.page.locator('nav a');
    const listed = await links.evaluateAll((all) =>
      all.map((one) => one.getAttribute('href')!.slice(1)),
    );
    addresses = [...listed, ...hostile.addresses];
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it('shows every page without an error, with at most three requests of its own', async () => {
    const seen: Record<string, number> = {};
    for (const address of addresses) {
      await wide.open(address);
      expect([address, wide.errors]).toEqual([address, []]);
      expect(await wide.page.getByRole('alert').allTextContents(), address).toEqual([]);
      const heading = wide.page.getByRole('heading', { level: 1 });
      expect(await heading.textContent(), address).not.toBe('Unknown page');
      const count = wide.requests.length;
      seen[address] = count <= 3 ? count : await wide.countRequests(address);
    }
    expect(Object.entries(seen).filter(([, count]) => count > 3)).toEqual([]);
    expect(Object.keys(seen)).toContain('/');
  });

  it('shows markup in names and texts as text, and runs none of it', async () => {
    for (const address of addresses) {
      await wide.open(address);
      const selector = `[data-${hostile.mark}], img, iframe, object, script:not([src])`;
      const added = await wide.page.locator(selector).count();
      const hasRun = await wide.page.evaluate(`Object.hasOwn(globalThis, '${hostile.mark}')`);
      expect([address, added, hasRun]).toEqual([address, 0, false]);
    }
    await wide.open('/configs');
    expect(await wide.page.getByText(hostile.text).count()).toBeGreaterThan(0);
  });

  it('has no serious violation of accessibility in dark or light colours', async () => {
    const light = await visitConsole(world);
    for (const address of addresses) {
      for (const visit of [wide, light]) {
        await visit.open(address);
        const { violations } = await new AxeBuilder({ page: visit.page }).analyze();
        const serious = violations
          .filter(({ impact }) => impact === 'serious' || impact === 'critical')
          .map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`);
        expect([address, serious]).toEqual([address, []]);
      }
    }
    await light.context.close();
  });

  it('needs no sideways scrolling at a width of 320 pixels', async () => {
    for (const address of addresses) {
      await narrow.open(address);
      const width = await narrow.page.evaluate('document.documentElement.scrollWidth');
      expect([address, width]).toEqual([address, 320]);
    }
  });

  it('lets the keyboard reach every control of every page', async () => {
    for (const address of addresses) {
      await wide.open(address);
      const { page } = wide;
      const controls = page.locator(
        ':is(a[href], button:enabled, input, select, summary, textarea):visible',
      );
      await controls.evaluateAll((all) => {
        for (const [index, one] of all.entries()) one.setAttribute('data-stop', `${index}`);
      });
      const count = await controls.count();
      const reached = new Set<string>();
      await page.evaluate('document.activeElement?.blur()');
      for (let presses = 0; presses < count * 2 + 20 && reached.size < count; presses++) {
        await page.keyboard.press('Tab');
        const stop = await page.evaluate(`document.activeElement?.getAttribute('data-stop')`);
        if (typeof stop === 'string') reached.add(stop);
      }
      expect([address, reached.size]).toEqual([address, count]);
    }
  });

  it('has a first page of at most 60 KiB of scripts and 15 KiB of styles, compressed', () => {
    const { folder } = world;
    const first = scriptsOf(folder, /^(app|overview)-/);
    expect(first.size).toBeGreaterThan(1);
    expect(sizeOf(folder, first)).toBeLessThanOrEqual(60 * 1024);
    const styles = readdirSync(folder).filter((name) => name.endsWith('.css'));
    expect(sizeOf(folder, styles)).toBeLessThanOrEqual(15 * 1024);
  });

  it('has editors of at most 10 KiB beyond the first page, compressed, loaded when they are opened', () => {
    const { folder } = world;
    const first = scriptsOf(folder, /^(app|overview)-/);
    const editors = [...scriptsOf(folder, /^edit-/)].filter((name) => !first.has(name));
    expect(editors.filter((name) => /^edit-(?:manifest|in-place)-/.test(name))).toHaveLength(2);
    expect(sizeOf(folder, editors)).toBeLessThanOrEqual(10 * 1024);
  });
});

/** Compressed bytes of the files. */
function sizeOf(folder: string, names: Iterable<string>): number {
  return [...names].reduce(
    (sum, name) => sum + gzipSync(readFileSync(join(folder, name)), { level: 9 }).length,
    0,
  );
}

/** Names of the scripts that match, and of what these import. */
function scriptsOf(folder: string, pattern: RegExp): Set<string> {
  const waiting = readdirSync(folder).filter((name) => pattern.test(name) && name.endsWith('.js'));
  const found = new Set<string>();
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    const text = readFileSync(join(folder, name), 'utf8');
    for (const [, other] of text.matchAll(/(?:from|import)\s*["']\.\/([\w-]+\.js)["']/g))
      waiting.push(other!);
  }
  return found;
}
