/** Opens the real console in a browser against a real server, and records what a page does. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { Settings } from '../../../src/settings.ts';
import { consoleSettings } from '../server/console.ts';
import { ownerOf } from '../server/people.ts';
import { startTestServer, type TestServer } from '../server/server.ts';
import { startChromium } from './chromium.ts';

const root = resolve(import.meta.dirname, '../../..');

export interface ConsoleWorld extends AsyncDisposable {
  readonly server: TestServer;
  readonly browser: Browser;
  /** Folder of the built console. */
  readonly folder: string;
}

/** Builds the console, and serves it with a database of its own. */
export async function openConsoleWorld(settings: Partial<Settings> = {}): Promise<ConsoleWorld> {
  const work = mkdtempSync(join(tmpdir(), 'console-'));
  const folder = join(work, 'console');
  const { buildConsole } = await import(join(root, 'scripts/console/build.mjs'));
  await buildConsole(folder);
  const server = await startTestServer({
    consoleFolder: folder,
    settings: { ...consoleSettings(), ...settings },
  });
  server.clock.set(Date.now());
  const browser = await startChromium();
  return {
    server,
    browser,
    folder,
    [Symbol.asyncDispose]: async () => {
      await browser.close();
      await server[Symbol.asyncDispose]();
      rmSync(work, { recursive: true });
    },
  };
}

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts, and messages of the browser such as violations of the policy for contents. */
  readonly errors: string[];
  /** Requests of the API since the last `open`, as `GET /v1/api-keys`. */
  readonly requests: string[];
  /** Goes to a page of the console, and waits until it has loaded. */
  open(address: string): Promise<void>;
  /**
   * Opens a page again, and returns how many requests that took. On a slow machine a late request of the page
   * before can count for the next one.
   */
  countRequests(address: string): Promise<number>;
}

/** Signs in as the user, by default the owner, through a one-time link. */
export async function visitConsole(
  { server, browser }: ConsoleWorld,
  {
    userId,
    ...options
  }: { readonly userId?: string; readonly width?: number; readonly isDark?: boolean } = {},
): Promise<Visit> {
  const user = userId ?? (await ownerOf(server));
  const { body } = await server.request('POST', `/v2/admin/users/${user}/sign-in-links`);
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1280, height: 900 },
    colorScheme: options.isDark === true ? 'dark' : 'light',
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  const errors: string[] = [];
  const requests: string[] = [];
  page.on('pageerror', ({ message }) => errors.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (/^\/(v1|admin)\//.test(pathname)) requests.push(`${request.method()} ${pathname}`);
  });
  await page.goto(body.url.replace(/^https?:\/\/[^/]+/, server.url));
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  const open = async (address: string): Promise<void> => {
    await page.waitForLoadState('networkidle');
    requests.length = 0;
    await page.goto(`${server.url}/console#${address}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    await page.locator('.loading').first().waitFor({ state: 'detached' });
  };
  const countRequests = async (address: string): Promise<number> => {
    await open('/setup');
    await open(address);
    return requests.length;
  };
  return { page, context, errors, requests, open, countRequests };
}
