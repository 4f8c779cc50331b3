/**
 * Keeps a picture of every page of the console in `.cache/console-pictures`, and compares where its regions
 * are with `layout.json`. GATEWRIGHT_TEST_UPDATE_LAYOUT=ON writes that file anew.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingChromium } from '../support/console/chromium.ts';
import {
  type ConsoleWorld,
  openConsoleWorld,
  type Visit,
  visitConsole,
} from '../support/console/console-visit.ts';
import { addHostileResources } from '../support/console/hostile-resources.ts';
import { layoutOf } from '../support/console/page-layout.ts';
import { titleWithReason } from '../support/run/missing-program.ts';

const missing = missingChromium();
const layoutFile = resolve(import.meta.dirname, 'layout.json');
const pictures = resolve(import.meta.dirname, '../../.cache/console-pictures');
const isUpdate = process.env.GATEWRIGHT_TEST_UPDATE_LAYOUT === 'ON';

/** Lines by page and width. */
type Layouts = Record<string, string[]>;

/** `/keys/4f…` becomes `/keys/:id`, so that names do not depend on the run. */
const nameOf = (address: string): string => address.replace(/(?<=^\/[\w-]+\/).+/, ':id');

describe.skipIf(missing !== null)(titleWithReason('the layout of the console', missing), () => {
  let world: ConsoleWorld;
  let addresses: readonly string[];
  beforeAll(async () => {
    world = await openConsoleWorld();
    const hostile = await addHostileResources(world.server);
    const visit = await visitConsole(world);
    const links = visit.page.locator('nav a');
    const listed = await links.evaluateAll((all) =>
      all.map((one) => one.getAttribute('href')!.slice(1)),
    );
    addresses = [...listed, ...hostile.addresses];
    await visit.context.close();
    mkdirSync(pictures, { recursive: true });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  async function layoutsIn(visit: Visit, width: number, scheme: string): Promise<Layouts> {
    const layouts: Layouts = {};
    for (const address of addresses) {
      await visit.open(address);
      const name = nameOf(address);
      layouts[`${name} at ${width}`] = await layoutOf(visit.page);
      const file = `${name.replaceAll(/\W+/g, '-').replace(/^-$/, '-overview')}-${width}-${scheme}.png`;
      await visit.page.screenshot({ path: join(pictures, file.slice(1)), fullPage: true });
    }
    await visit.context.close();
    return layouts;
  }

  it('is the same as before at both widths, in dark and light colours', async () => {
    const found: Layouts = {};
    for (const width of [1280, 320]) {
      const light = await layoutsIn(await visitConsole(world, { width }), width, 'light');
      const dark = await layoutsIn(
        await visitConsole(world, { width, isDark: true }),
        width,
        'dark',
      );
      expect(dark).toEqual(light);
      Object.assign(found, light);
    }
    const faults = Object.entries(found).flatMap(([page, lines]) =>
      lines.filter((line) => /is cut off|overlaps/.test(line)).map((line) => `${page}: ${line}`),
    );
    expect(faults).toEqual([]);
    if (isUpdate) writeFileSync(layoutFile, `${JSON.stringify(found, null, 2)}\n`);
    expect(found).toEqual(JSON.parse(readFileSync(layoutFile, 'utf8')));
  });
});
