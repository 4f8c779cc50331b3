/** Verifies that every page serves readers who cannot see plots, colours or movement. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingChromium } from '../support/console/chromium.ts';
import {
  type ConsoleWorld,
  openConsoleWorld,
  type Visit,
  visitConsole,
} from '../support/console/console-visit.ts';
import { addHostileResources } from '../support/console/hostile-resources.ts';
import { titleWithReason } from '../support/run/missing-program.ts';

const missing = missingChromium();

/** Plots without a table that has a caption, headings and a row for each point in time. */
const plotsWithoutTable = `[...document.querySelectorAll('figure.plot')].filter((plot) => {
  const table = plot.querySelector('details > table');
  return !(
    table?.caption?.textContent &&
    table.querySelectorAll('thead th[scope=col]').length > 1 &&
    table.querySelectorAll('tbody tr').length > 0 &&
    plot.querySelector('canvas')?.closest('[aria-hidden=true]')
  );
}).map((plot) => plot.textContent)`;

/** Controls that show nothing of themselves when they have the focus. */
const outlines = `[...document.querySelectorAll('a[href], button:enabled, input, select, summary')]
  .filter((one) => one.checkVisibility() && !one.closest('.skip'))
  .filter((one) => {
    one.focus({ focusVisible: true });
    const { outlineStyle, outlineWidth } = getComputedStyle(one);
    return document.activeElement === one && (outlineStyle === 'none' || outlineWidth === '0px');
  })
  .map((one) => one.outerHTML.slice(0, 200))`;

/** States and buttons that look like text. */
const borderless = `[...document.querySelectorAll('.state, button')]
  .filter((one) => one.checkVisibility() && !one.matches('.skip'))
  .filter((one) => {
    const { borderTopStyle, textDecorationLine } = getComputedStyle(one);
    return borderTopStyle === 'none' && textDecorationLine !== 'underline';
  })
  .map((one) => one.outerHTML.slice(0, 200))`;

describe.skipIf(missing !== null)(titleWithReason('every page of the console', missing), () => {
  let world: ConsoleWorld;
  let visit: Visit;
  let addresses: readonly string[];
  beforeAll(async () => {
    world = await openConsoleWorld();
    const hostile = await addHostileResources(world.server);
    visit = await visitConsole(world);
    const links = visit.page.locator('nav a');
    const listed = await links.evaluateAll((all) =>
      all.map((one) => one.getAttribute('href')!.slice(1)),
    );
    addresses = [...listed, ...hostile.addresses];
  });
  afterAll(() => world[Symbol.asyncDispose]());

  async function faultsOf(script: string): Promise<string[]> {
    const faults: string[] = [];
    for (const address of addresses) {
      await visit.open(address);
      const found = await visit.page.evaluate<string[]>(script);
      faults.push(...found.map((one) => `${address}: ${one}`));
    }
    return faults;
  }

  it('has a table with the values of each plot', async () => {
    expect(await faultsOf(plotsWithoutTable)).toEqual([]);
    await visit.open('/usage');
    expect(await visit.page.locator('figure.plot').count()).toBeGreaterThan(3);
  });

  it('moves nothing for readers who prefer reduced motion', async () => {
    const moving = `document.getAnimations().map((one) => one.constructor.name)`;
    expect(await faultsOf(moving)).toEqual([]);
  });

  it('shows the focus, buttons and states in forced colours', async () => {
    await visit.page.emulateMedia({ forcedColors: 'active' });
    expect(await faultsOf(outlines)).toEqual([]);
    expect(await faultsOf(borderless)).toEqual([]);
    const current = `getComputedStyle(document.querySelector('nav [aria-current]')).textDecorationLine`;
    await visit.open('/logs');
    expect(await visit.page.evaluate(current)).toBe('underline');
    await visit.page.emulateMedia({ forcedColors: 'none' });
  });
});
