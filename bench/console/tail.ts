/** Measures the live log while 500 requests a second end: the page stays responsive, the server idle. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from 'mysql2/promise';
import { startChromium } from '../../test/support/console/chromium.ts';
import type { Row } from '../harness.ts';
import { cpuMs, type Server, type Tenant } from '../product.ts';
import { openConsole } from './browser.ts';
import { addEndedRequests } from './log-fixture.ts';

const perSecond = 500;
const seconds = 20;
const longTaskMsMax = 200;
const serverShareMax = 0.1;

/** Keeps the duration of each task above 50 ms. */
const observeTasks = `
  globalThis.taskMs = [];
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) globalThis.taskMs.push(duration);
  }).observe({ type: 'longtask' });
`;

export async function tailRows(
  server: Server,
  tenant: Tenant,
  connection: Connection,
): Promise<Row[]> {
  const browser = await startChromium();
  try {
    const pid = server.process.pid!;
    const withoutMs = await cpuMsWhile(pid, () => addRequests(connection, tenant));
    const page = await openConsole(browser, server, tenant);
    await page.goto(`${server.url}/console#/logs?live=1`);
    await page.locator('main tbody tr').nth(1).waitFor();
    await page.evaluate(observeTasks);
    const withMs = await cpuMsWhile(pid, () => addRequests(connection, tenant));
    const taskMs = await page.evaluate<number[]>('globalThis.taskMs');
    const share = (withMs - withoutMs) / (seconds * 1000);
    return [
      {
        metric: 'live log, longest task, ms',
        ratio: Math.max(0, ...taskMs),
        aim: longTaskMsMax,
      },
      { metric: 'live log, share of a processor of the server', ratio: share, aim: serverShareMax },
    ];
  } finally {
    await browser.close();
  }
}

async function addRequests(connection: Connection, tenant: Tenant): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    const began = performance.now();
    await addEndedRequests(connection, tenant.tsgId, perSecond, Date.now());
    await delay(Math.max(0, 1000 - (performance.now() - began)));
  }
}

async function cpuMsWhile(pid: number, work: () => Promise<void>): Promise<number> {
  const before = cpuMs(pid);
  await work();
  return cpuMs(pid) - before;
}
