/** Verifies that manifests are edited as pull requests or patches, and unmanaged resources in place. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingChromium } from '../support/console/chromium.ts';
import {
  type ConsoleWorld,
  openConsoleWorld,
  type Visit,
  visitConsole,
} from '../support/console/console-visit.ts';
import type { ForgeForm } from '../support/git/forge.ts';
import { titleWithReason } from '../support/run/missing-program.ts';
import {
  forgeToken,
  type ProposalSetup,
  routingFile,
  sourceFolder,
  startProposals,
} from '../support/sync/proposals.ts';

const missing = missingChromium();

interface OpenConsole {
  readonly setup: ProposalSetup;
  readonly world: ConsoleWorld;
  readonly visit: Visit;
  readonly id: string;
}

async function open(form: ForgeForm | null): Promise<OpenConsole> {
  let world: ConsoleWorld | null = null;
  const setup = await startProposals(form, async (settings) => {
    const opened = await openConsoleWorld(settings);
    world = opened;
    return { ...opened.server, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
  });
  await setup.sync({ 'configs.yaml': routingFile });
  const visit = await visitConsole(world!);
  return { setup, world: world!, visit, id: await setup.configId('routing') };
}

async function edit({ page }: Visit, from: string, to: string): Promise<void> {
  const field = page.getByLabel('YAML');
  await field.fill((await field.inputValue()).replace(from, to));
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('heading', { name: 'Difference' }).waitFor();
}

describe.skipIf(missing !== null)(titleWithReason('editing with a Git host', missing), () => {
  let opened: OpenConsole;
  beforeAll(async () => {
    opened = await open('gitea');
  });
  afterAll(() => opened.setup[Symbol.asyncDispose]());

  it('shows difference and plan, and opens one pull request', async () => {
    const { setup, visit, id } = opened;
    const { page, errors, requests } = visit;
    await visit.open(`/configs/${id}`);
    expect(await page.getByText('Managed by sync').isVisible()).toBe(true);
    await page.getByRole('link', { name: 'Edit the manifest' }).click();
    await edit(visit, 'attempts: 2', 'attempts: 5');
    const difference = await page.locator('.difference').textContent();
    expect(difference).toContain('-    retry: { attempts: 2 }');
    expect(difference).toContain('+    retry: { attempts: 5 }');
    const plan = page.getByRole('table', { name: 'Changes of resources' });
    expect(await plan.textContent()).toContain('2 → 5');
    await page.getByRole('button', { name: 'Open pull request…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Open pull request' }).click();
    const link = page.getByRole('link', { name: 'pull request 1' });
    await link.waitFor();
    expect(await link.getAttribute('href')).toBe('https://git.example.com/acme/gateway/pulls/1');
    const { branch } = setup.forge!.pulls[0]!;
    const path = `${sourceFolder}/configs.yaml`;
    expect(setup.repository.read(branch, path)).toBe(
      routingFile.replace('attempts: 2', 'attempts: 5'),
    );
    expect(setup.forge!.pulls).toHaveLength(1);
    expect(requests.filter((one) => one.startsWith('PUT'))).toEqual([]);
    expect(await page.content()).not.toContain(forgeToken);
    expect(errors).toEqual([]);
  });

  it('names faults of the text with their place, and offers no pull request then', async () => {
    const { visit, id } = opened;
    await visit.open('/configs');
    await visit.open(`/manifests/Config/${id}`);
    await edit(visit, 'attempts: 2', 'attempts: <img src=x onerror=alert(1)>');
    expect(await visit.page.getByRole('alert').textContent()).toContain('configs.yaml:9:');
    expect(await visit.page.getByRole('button', { name: 'Open pull request…' }).count()).toBe(0);
    expect(await visit.page.locator('main img').count()).toBe(0);
    expect(visit.errors).toEqual([]);
  });
});

describe.skipIf(missing !== null)(titleWithReason('editing without a Git host', missing), () => {
  let opened: OpenConsole;
  beforeAll(async () => {
    opened = await open(null);
  });
  afterAll(() => opened.setup[Symbol.asyncDispose]());

  it('copies a patch that git applies', async () => {
    const { visit, id } = opened;
    const { page, context, errors } = visit;
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await visit.open(`/manifests/Config/${id}`);
    await edit(visit, 'attempts: 2', 'attempts: 4');
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const patch = await page.evaluate<string>('navigator.clipboard.readText()');
    const folder = mkdtempSync(join(tmpdir(), 'gatewright-patch-'));
    try {
      mkdirSync(join(folder, sourceFolder));
      const file = join(folder, sourceFolder, 'configs.yaml');
      writeFileSync(file, routingFile);
      execFileSync('git', ['init', '--quiet', folder]);
      execFileSync('git', ['apply', '-'], { cwd: folder, input: patch });
      expect(readFileSync(file, 'utf8')).toBe(routingFile.replace('attempts: 2', 'attempts: 4'));
    } finally {
      rmSync(folder, { recursive: true });
    }
    expect(errors).toEqual([]);
  });

  it('changes an unmanaged config in place, and overwrites no newer version', async () => {
    const { setup, visit } = opened;
    const { page } = visit;
    const config = { retry: { attempts: 2 } };
    const made = await setup.server.request('POST', '/v1/configs', {
      body: { name: 'By hand', config },
    });
    await visit.open(`/configs/${made.body.id}`);
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    const field = page.getByLabel('JSON');
    await field.waitFor();
    await field.fill((await field.inputValue()).replace('By hand', 'In place'));
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 1, name: 'In place' }).waitFor();
    await visit.open(`/edit/Config/${made.body.id}`);
    await field.waitFor();
    const path = `/v1/configs/${made.body.id}`;
    await setup.server.request('PUT', path, { body: { name: 'By another' } });
    await field.fill((await field.inputValue()).replace('In place', 'Mine'));
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Load the newer version' }).waitFor();
    expect((await setup.server.request('GET', path)).body.name).toBe('By another');
  });
});
