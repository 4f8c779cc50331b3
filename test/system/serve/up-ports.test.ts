/** Tests the ports of `up`: one rule for all listeners, replacements that stay, and the mock upstream. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { choosePorts, type PortOptions } from '../../../src/commands/up/up-ports.ts';
import { Failure } from '../../../src/failure.ts';
import { findFreePort } from '../../support/database/database-server.ts';
import { createTestHome } from '../../support/server/home.ts';
import { testSettings } from '../../support/server/server.ts';
import { sourceProgram } from '../commands/run-cli.ts';
import { startUp } from './up-runner.ts';
import { example, fillUsedHome } from './used-home.ts';

const host = '127.0.0.1';
let home: string;
let others: Server[];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gatewright-ports-'));
  others = [];
});
afterEach(() => {
  for (const other of others) other.close();
  rmSync(home, { recursive: true, force: true });
});

/** Another program on a port. */
async function occupy(port: number): Promise<number> {
  const other = createServer();
  await once(other.listen(port, host), 'listening');
  others.push(other);
  return (other.address() as AddressInfo).port;
}

type Ports = Readonly<Record<'port' | 'metricsPort' | 'inferencePort' | 'mcpPort', number>>;

async function choose(ports: Ports, more: Partial<PortOptions> = {}) {
  const settings = testSettings();
  const progress: string[] = [];
  const { server, inference, mcp } = await choosePorts({
    home,
    settings: {
      server: { ...settings.server, host, port: ports.port, metricsPort: ports.metricsPort },
      inference: { ...settings.inference, port: ports.inferencePort },
      mcp: { ...settings.mcp, port: ports.mcpPort },
    },
    requested: new Set(),
    mocksUpstream: true,
    progress: (line) => progress.push(line),
    ...more,
  });
  const mock = Number(inference.mockUpstreamHost?.split(':')[1] ?? Number.NaN);
  return { chosen: [server.port, server.metricsPort, inference.port, mcp.port, mock], progress };
}

describe('a usual port that is in use', () => {
  it('is replaced for every listener by a port that stays over restarts', async () => {
    const ports = {
      port: await occupy(0),
      metricsPort: await occupy(0),
      inferencePort: await occupy(0),
      mcpPort: await occupy(0),
    };
    const first = await choose(ports);
    const [api, metrics, inference, mcp] = first.chosen;
    expect(Object.values(ports)).not.toContain(api);
    expect(Object.values(ports)).not.toContain(metrics);
    expect(Object.values(ports)).not.toContain(inference);
    expect(Object.values(ports)).not.toContain(mcp);
    expect(new Set(first.chosen).size).toBe(5);
    expect(first.progress.length).toBeGreaterThanOrEqual(4);
    // Also when the usual ports have become free.
    for (const other of others.splice(0)) other.close();
    expect(await choose(ports)).toEqual({ chosen: first.chosen, progress: [] });
  });

  it('is kept where it is free, without a file in the home', async () => {
    const ports = {
      port: await findFreePort(),
      metricsPort: await findFreePort(),
      inferencePort: await findFreePort(),
      mcpPort: await findFreePort(),
    };
    const { chosen, progress } = await choose(ports, { mocksUpstream: false });
    expect([chosen, progress]).toEqual([[...Object.values(ports), Number.NaN], []]);
    expect(() => readFileSync(join(home, 'ports.json'))).toThrow('ENOENT');
  });
});

it.each([
  ['api', 'port', 'PORT'],
  ['metrics', 'metricsPort', 'GATEWRIGHT_METRICS_PORT'],
  ['inference', 'inferencePort', 'GATEWRIGHT_INFERENCE_PORT'],
  ['mcp', 'mcpPort', 'GATEWRIGHT_MCP_PORT'],
] as const)('refuses a requested port of %s that is in use', async (listener, name, setting) => {
  const taken = await occupy(0);
  const ports = { port: 0, metricsPort: 0, inferencePort: 0, mcpPort: 0, [name]: taken };
  const refusal = await choose(ports, { requested: new Set([listener]) }).catch((error) => error);
  expect(refusal).toBeInstanceOf(Failure);
  expect(refusal.message).toContain(`${host}:${taken}: another program`);
  expect(refusal.message).toContain(setting);
});

it('never calls another program on the usual port of the mock upstream', async () => {
  const calls: string[] = [];
  const other = createHttpServer((request, response) => {
    calls.push(request.url ?? '');
    response.end('{}');
  });
  // If the port is in use already, its owner must not be called either.
  other.on('error', () => undefined).listen(8790, host);
  using used = createTestHome();
  await fillUsedHome(used.path);
  const port = String(await findFreePort());
  await using run = startUp(used.path, ['--source', example, '--port', port], {}, sourceProgram);
  await run.saw(/Ctrl-C stops everything/);
  const [, mockPort] = /answers on http:\/\/127\.0\.0\.1:(\d+)\/v1/.exec(run.stderr()) ?? [];
  expect(mockPort).not.toBe('8790');
  const [, url] = /inference +(http:\S+)/.exec(run.stdout()) ?? [];
  const key = readFileSync(join(used.path, 'secrets/support/support-bot.key'), 'utf8').trim();
  const answer = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{"model":"any","messages":[{"role":"user","content":"hello"}]}',
  });
  expect([answer.status, calls]).toEqual([200, []]);
  other.close();
});
