/** Measures what the console costs the server in memory, used and unused, against a server without it. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { request as send } from 'undici';
import { median, type Row } from '../harness.ts';
import { residentMiB, type Server, startProduct } from '../product.ts';

const pairs = 5;
const mebibytesMax = 5;
const settleMs = 3000;
const collections = 3;
const collectMs = 500;
const requestsOfAll = 80;

/** Collects garbage on a signal, so that only used memory counts. */
const collecting = {
  NODE_OPTIONS:
    "--expose-gc --import=data:text/javascript,process.on('SIGUSR2',()=>globalThis.gc())",
};

/** Processes with the console and without take turns. */
export async function consoleMemoryRows(env: Readonly<Record<string, string>>): Promise<Row[]> {
  const extra: number[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const off = await memoryOf({ ...env, GATEWRIGHT_CONSOLE_ENABLED: 'OFF' }, requestNothing);
    const on = await memoryOf({ ...env, GATEWRIGHT_CONSOLE_ENABLED: 'ON' }, loadEverything);
    extra.push(on - off);
  }
  return [{ metric: 'memory of the console in use, MiB', ratio: median(extra), aim: mebibytesMax }];
}

async function memoryOf(
  env: Record<string, string>,
  use: (server: Server) => Promise<void>,
): Promise<number> {
  const server = await startProduct({ ...env, ...collecting });
  try {
    await use(server);
    await delay(settleMs);
    for (let round = 0; round < collections; round += 1) {
      server.process.kill('SIGUSR2');
      await delay(collectMs);
    }
    return residentMiB(server.process.pid!);
  } finally {
    const ended = once(server.process, 'exit');
    server.process.kill('SIGKILL');
    await ended;
  }
}

/** As many requests, so that only the console differs. */
async function requestNothing({ url }: Server): Promise<void> {
  for (let at = 0; at < requestsOfAll; at += 1) await (await send(`${url}/none/${at}`)).body.dump();
}

/** Requests the page and what it names, as browsers do, and each script that these import. */
async function loadEverything({ url }: Server): Promise<void> {
  const waiting = ['console'];
  const seen = new Set(waiting);
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const { body } = await send(`${url}/${path}`, { headers: { 'accept-encoding': 'identity' } });
    const text = await body.text();
    await (await send(`${url}/${path}`, { headers: { 'accept-encoding': 'br' } })).body.dump();
    for (const [, name] of text.matchAll(/["'`](?:\.\/|console\/)([\w-]+\.(?:js|css))["'`]/g)) {
      if (seen.has(`console/${name}`)) continue;
      seen.add(`console/${name}`);
      waiting.push(`console/${name}`);
    }
  }
}
