/** Measures when pages of the console have content, with a full log and with an empty one. */
import type { Page, Request } from 'playwright-core';
import { startChromium } from '../../test/support/console/chromium.ts';
import { median, type Row } from '../harness.ts';
import type { Server, Tenant } from '../product.ts';
import { openConsole } from './browser.ts';
import { frequent, rare } from './log-fixture.ts';

const rounds = 5;
const firstContentMsMax = 1000;
const requestsMax = 3;

const addresses = [
  '/',
  '/keys',
  '/usage',
  '/usage?by=model',
  '/usage?by=workspace',
  '/logs',
  `/logs?key=${frequent.key}`,
  `/logs?model=${frequent.model}`,
  `/logs?model=${rare.model}&range=7d`,
  `/logs?provider=${frequent.provider}`,
  `/logs?provider=${rare.provider}&range=7d`,
  '/logs?status=4xx',
  '/logs?status=5xx&range=7d',
  '/logs?verdict=denied',
  '/logs?verdict=failed&range=7d',
  '/logs?type=mcp',
  `/logs?server=${rare.server}&range=7d`,
  '/logs?tool=none&range=7d',
];

interface Tenants {
  readonly full: Tenant;
  readonly empty: Tenant;
}

interface PageLoad {
  /** Milliseconds from the start of the navigation. */
  readonly firstContentMs: number;
  readonly completeMs: number;
  readonly requests: number;
  readonly slowestRequestMs: number;
}

/** The two tenants take turns. */
export async function pageRows(server: Server, { full, empty }: Tenants): Promise<Row[]> {
  const browser = await startChromium();
  try {
    const ofFull = await openConsole(browser, server, full);
    const ofEmpty = await openConsole(browser, server, empty);
    const rows: Row[] = [];
    for (const address of addresses) {
      const all: [PageLoad, PageLoad][] = [];
      for (let round = 0; round < rounds; round += 1) {
        all.push([
          await openPage(ofFull, server, address),
          await openPage(ofEmpty, server, address),
        ]);
      }
      rows.push(...rowsOf(address, all));
    }
    return rows;
  } finally {
    await browser.close();
  }
}

function rowsOf(address: string, all: readonly (readonly [PageLoad, PageLoad])[]): Row[] {
  const of = (at: 0 | 1, figure: keyof PageLoad): number =>
    median(all.map((one) => one[at][figure]));
  return [
    {
      metric: `${address} first content, ms`,
      ratio: of(0, 'firstContentMs'),
      aim: firstContentMsMax,
    },
    {
      metric: `${address} complete, over an empty log`,
      ratio: of(0, 'completeMs') / of(1, 'completeMs'),
      aim: null,
    },
    { metric: `${address} complete, ms`, ratio: of(0, 'completeMs'), aim: null },
    { metric: `${address} slowest request, ms`, ratio: of(0, 'slowestRequestMs'), aim: null },
    { metric: `${address} requests`, ratio: of(0, 'requests'), aim: requestsMax },
  ];
}

/** Loads the whole page anew. Requests of the frame, for the session and workspaces, do not count. */
async function openPage(page: Page, { url }: Server, address: string): Promise<PageLoad> {
  const requests: Request[] = [];
  const record = (request: Request): void => {
    if (/\/(?:v1|admin)\//.test(request.url())) requests.push(request);
  };
  await page.goto('about:blank');
  page.on('request', record);
  const began = performance.now();
  await page.goto(`${url}/console#${address}`);
  await page.locator('main h1').waitFor();
  const firstContentMs = performance.now() - began;
  await page.waitForLoadState('networkidle');
  await page.locator('.loading').first().waitFor({ state: 'detached' });
  page.off('request', record);
  const ends = requests.map((request) => request.timing().responseEnd);
  const own = requests.filter((one) => !/\/v1\/(?:session|admin\/workspaces)\b/.test(one.url()));
  const last = Math.max(...requests.map(endOf));
  return {
    firstContentMs,
    completeMs: Math.max(firstContentMs, last - (performance.timeOrigin + began)),
    requests: own.length,
    slowestRequestMs: Math.max(...ends),
  };
}

/** Milliseconds since the epoch. */
function endOf(request: Request): number {
  const { startTime, responseEnd } = request.timing();
  return startTime + responseEnd;
}
