/** Verifies what users see by their role, and what happens when the session or the server goes away. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingChromium } from '../support/console/chromium.ts';
import {
  type ConsoleWorld,
  openConsoleWorld,
  visitConsole,
} from '../support/console/console-visit.ts';
import { titleWithReason } from '../support/run/missing-program.ts';
import { addUser } from '../support/server/people.ts';

const missing = missingChromium();

describe.skipIf(missing !== null)(titleWithReason('a session of the console', missing), () => {
  let world: ConsoleWorld;
  beforeAll(async () => {
    world = await openConsoleWorld();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const createdBody = async (path: string, body: unknown): Promise<{ id: string }> => {
    const reply = await world.server.request('POST', path, { body });
    expect(reply.status, JSON.stringify(reply.body)).toBe(200);
    return reply.body;
  };

  it('shows members their own workspaces only, and offers no action that they may not do', async () => {
    const { server } = world;
    const own = await createdBody('/v2/admin/workspaces', { name: 'Own workspace' });
    const other = await createdBody('/v2/admin/workspaces', { name: 'Foreign workspace' });
    for (const [id, name] of [
      [own.id, 'Own config'],
      [other.id, 'Foreign config'],
    ]) {
      const config = { targets: [{ provider: 'openai' }] };
      await createdBody('/v2/configs', { name, workspace_id: id, config });
    }
    const userId = await addUser(server, { role: 'member' });
    const users = [{ id: userId, role: 'member' }];
    await createdBody(`/v2/admin/workspaces/${own.id}/users`, { users });
    const { page, open, context } = await visitConsole(world, { userId });
    await open('/configs');
    await page.getByText('Own config').waitFor();
    expect(await page.getByText('Foreign').count()).toBe(0);
    await open('/sync');
    expect(await page.getByRole('button', { name: 'Suspend sync…' }).count()).toBe(0);
    await context.close();
  });

  it('goes to the page for signing in when the session ends, and back with another link', async () => {
    const { page, context } = await visitConsole(world);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('link', { name: 'Sign in' }).waitFor();
    expect(await context.cookies()).toEqual([]);
    await page.goto(`${world.server.url}/console#/configs`);
    await page.reload();
    await page.getByRole('link', { name: 'Sign in' }).waitFor();
    await context.close();
    const again = await visitConsole(world);
    await again.open('/configs');
    expect(await again.page.getByRole('heading', { level: 1 }).textContent()).toBe('Configs');
    await again.context.close();
  });

  it('shows nothing more on any page once the session has ended elsewhere', async () => {
    const { page, context } = await visitConsole(world);
    const links = page.locator('nav a');
    const addresses = await links.evaluateAll((all) =>
      all.map((one) => one.getAttribute('href')!.slice(2)),
    );
    await context.close();
    // Client setup requests nothing of the tenant.
    for (const address of addresses.filter((one) => one !== 'setup')) {
      const visit = await visitConsole(world);
      const end = `fetch('/v1/session', { method: 'DELETE' }).then((one) => one.status)`;
      expect(await visit.page.evaluate(end)).toBe(200);
      await visit.page.evaluate(`location.hash = '/configs/none'`);
      await visit.page.evaluate(`location.hash = '/${address}'`);
      await visit.page.getByRole('link', { name: 'Sign in' }).waitFor();
      expect([address, await visit.page.locator('nav, table').count()]).toEqual([address, 0]);
      await visit.context.close();
    }
  });

  it('tells of an action that the end of the session refuses, and changes nothing', async () => {
    const { server } = world;
    const { body: own } = await server.request('POST', '/v2/admin/workspaces', {
      body: { name: 'w' },
    });
    const visit = await visitConsole(world);
    await visit.open('/keys');
    await visit.page
      .getByRole('button', { name: /^Create/ })
      .first()
      .click();
    await visit.context.clearCookies();
    const count = async () => (await server.request('GET', '/v1/api-keys')).body.total;
    const before = await count();
    const reply = await visit.page.evaluate(
      `fetch('/v1/api-keys/workspace/service', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'x', workspace_id: '${own.id}', scopes: ['completions.write'] }),
      }).then((one) => one.status)`,
    );
    expect([reply, await count()]).toEqual([401, before]);
    await visit.context.close();
  });

  it('keeps no credential where scripts can read it', async () => {
    const { page, context } = await visitConsole(world);
    const readable = await page.evaluate(
      `[document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage), location.hash]`,
    );
    expect(readable).toEqual(['', '{}', '{}', '#/']);
    await context.close();
  });

  it('cannot be shown in a frame of another page', async () => {
    const { page, context } = await visitConsole(world);
    const blocked = page.waitForEvent('console', (message) =>
      /frame-ancestors/.test(message.text()),
    );
    await page.route('**/framing', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<iframe src="${world.server.url}/console"></iframe>`,
      }),
    );
    await page.goto(`${world.server.url}/framing`);
    expect((await blocked).text()).toContain("'none'");
    await context.close();
  });

  it('says that the server does not respond, and goes on when it does', async () => {
    const { page, open, context } = await visitConsole(world);
    await open('/configs');
    await context.setOffline(true);
    await page.getByRole('link', { name: 'MCP servers' }).click();
    await page.getByRole('alert').first().waitFor();
    expect(await page.getByRole('alert').first().textContent()).toMatch(
      /not respond|not be loaded/,
    );
    await context.setOffline(false);
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'MCP servers' }).waitFor();
    await context.close();
  });
});
