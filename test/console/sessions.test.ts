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

  it('keeps no credential where scripts can read it', async () => {
    const { page, context } = await visitConsole(world);
    const readable = await page.evaluate(
      `[document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage), location.hash]`,
    );
    expect(readable).toEqual(['', '{}', '{}', '#/']);
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
