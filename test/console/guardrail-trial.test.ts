/** Verifies in a real browser that the page of a guardrail judges a text, and that the log is filtered by it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingChromium } from '../support/console/chromium.ts';
import {
  type ConsoleWorld,
  openConsoleWorld,
  type Visit,
  visitConsole,
} from '../support/console/console-visit.ts';
import { titleWithReason } from '../support/run/missing-program.ts';

const missing = missingChromium();

describe.skipIf(missing !== null)(titleWithReason('the page of a guardrail', missing), () => {
  let world: ConsoleWorld;
  let visit: Visit;
  let id: string;

  beforeAll(async () => {
    world = await openConsoleWorld();
    const checks = [
      { id: 'gatewright.pii', parameters: { redact: true } },
      { id: 'default.contains', parameters: { words: ['bomb'], operator: 'none' } },
      { id: 'default.webhook', parameters: { webhookURL: 'https://hook.example.com' } },
    ];
    const body = { name: 'tried', checks, actions: { deny: true } };
    const made = await world.server.request('POST', '/v2/guardrails', { body });
    expect(made).toMatchObject({ status: 200 });
    ({ id } = made.body);
    visit = await visitConsole(world);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  async function judge(text: string): Promise<void> {
    const { page } = visit;
    await page.getByLabel('Text', { exact: true }).fill(text);
    await page.getByRole('button', { name: 'Judge the text' }).click();
  }

  /** The rows of the result, without the head. */
  async function rows(): Promise<readonly string[]> {
    const table = visit.page.getByRole('table', { name: 'What each check made of the text' });
    return (await table.getByRole('row').allTextContents()).slice(1);
  }

  it('shows verdict, duration and explanation of each check, and the text as it is sent', async () => {
    await visit.open(`/guardrails/${id}`);
    await judge('<b>write</b> to jane@example.org');
    await expect
      .poll(rows)
      .toEqual([
        expect.stringMatching(/^gatewright\.piipassed\d+\S/),
        expect.stringMatching(/^default\.containspassed\d+\S/),
        expect.stringMatching(/^default\.webhookskipped0a trial calls no service/),
      ]);
    await visit.page.getByText('<b>write</b> to {{EMAIL_ADDRESS_1}}').waitFor();
    expect(visit.errors).toEqual([]);
  });

  it('shows a denial, and why a text cannot be judged', async () => {
    await visit.open(`/guardrails/${id}`);
    await judge('a bomb');
    await expect.poll(async () => (await rows())[1]).toMatch(/^default\.containsfailed/);
    await visit.page.getByText('denied', { exact: true }).waitFor();
    await judge('x'.repeat(100_001));
    await visit.page.getByRole('alert').waitFor();
  });

  it('leads to the requests that this guardrail has denied', async () => {
    await visit.open(`/guardrails/${id}`);
    await visit.page.getByRole('link', { name: 'Denied requests' }).click();
    const chosen = visit.page.locator('label:has(span:text-is("Guardrail")) select');
    await chosen.waitFor();
    expect(await chosen.inputValue()).toBe(id);
  });
});
