/** Opens the console in Chromium as the owner of a tenant, with a slowed processor. */
import type { Browser, Page } from 'playwright-core';
import { request as send } from 'undici';
import { type Server, type Tenant, tokenOf } from '../product.ts';

const slowDown = 4;

/** Signs in by a one-time link. */
export async function openConsole(browser: Browser, server: Server, tenant: Tenant): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  await page.goto(await linkOf(server, tenant));
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  const session = await context.newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowDown });
  return page;
}

async function linkOf(server: Server, tenant: Tenant): Promise<string> {
  const headers = { authorization: `Bearer ${await tokenOf(server, tenant)}` };
  const list = await send(`${server.url}/v2/admin/users?role=owner`, { headers });
  const { data } = (await list.body.json()) as { data: { id: string; role: string }[] };
  const owner = data.find(({ role }) => role === 'owner')!;
  const path = `${server.url}/v2/admin/users/${owner.id}/sign-in-links`;
  const made = await send(path, { method: 'POST', headers });
  return ((await made.body.json()) as { url: string }).url;
}
