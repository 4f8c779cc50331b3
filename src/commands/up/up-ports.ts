/**
 * Selects the ports of `up` by one rule: a requested port must be free; another one is replaced by a
 * free port if it is in use, and the home remembers the replacement.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { inferencePort } from '../../app/gateway.ts';
import { listenFailure } from '../../app/listen.ts';
import { mcpPort } from '../../app/mcp-plane.ts';
import { inspectStateFile, writeStateFile } from '../../embedded/state-file.ts';
import { mockUpstreamHost } from '../../model/services/provider-addresses.ts';
import type { Settings } from '../../settings.ts';

const Port = z.int().min(1).max(65_535);
/** Replacements of usual ports, by listener. */
const Replacements = z
  .object({ api: Port, inference: Port, mcp: Port, metrics: Port, mockUpstream: Port })
  .partial();
type Replacements = z.infer<typeof Replacements>;
type Listener = keyof Replacements;

/** Listeners whose port the user has set. */
export type RequestedPorts = ReadonlySet<Listener>;

export interface PortOptions {
  /** Absolute path; it exists. */
  readonly home: string;
  readonly settings: Pick<Settings, 'server' | 'inference' | 'mcp'>;
  readonly requested: RequestedPorts;
  /** Whether the mock upstream runs too. */
  readonly mocksUpstream: boolean;
  /** Called with one line for each replacement. */
  readonly progress: (line: string) => void;
}

const mockHost = new URL(`http://${mockUpstreamHost}`);

interface WantedPort {
  readonly listener: Listener;
  readonly host: string;
  readonly port: number;
  /** The setting for another port; null for none. */
  readonly setting: string | null;
}

/** Settings with ports that were just found to be free; 0 stays, for any free port. */
export type ChosenPorts = Pick<Settings, 'server' | 'inference' | 'mcp'>;

/** @throws Failure that names a requested port that cannot be used */
export async function choosePorts(options: PortOptions): Promise<ChosenPorts> {
  const { home, settings, requested } = options;
  const { server, inference, mcp } = settings;
  const path = join(home, 'ports.json');
  const stored = inspectStateFile(path, Replacements);
  const before = stored === null || stored.isDamaged ? {} : stored.state;
  const replacements: Replacements = { ...before };
  const taken = new Set<number>();
  const ports = new Map<Listener, number>();
  for (const wanted of wantedPorts(options)) {
    const { listener, port } = wanted;
    const chosen = requested.has(listener)
      ? await requirePort(wanted, taken)
      : await replacePort(wanted, before[listener] ?? port, taken, options.progress);
    ports.set(listener, chosen);
    taken.add(chosen);
    if (chosen === port) delete replacements[listener];
    else replacements[listener] = chosen;
  }
  const isChanged = JSON.stringify(replacements) !== JSON.stringify(before);
  if (isChanged) writeStateFile(path, `${JSON.stringify(replacements)}\n`);
  const mockPort = ports.get('mockUpstream');
  return {
    server: { ...server, port: ports.get('api')!, metricsPort: ports.get('metrics')! },
    inference: {
      ...inference,
      port: ports.get('inference')!,
      mockUpstreamHost: mockPort === undefined ? null : `${mockHost.hostname}:${mockPort}`,
    },
    mcp: { ...mcp, port: ports.get('mcp')! },
  };
}

function wantedPorts({ settings, mocksUpstream }: PortOptions): WantedPort[] {
  const { host, port, metricsPort } = settings.server;
  return [
    { listener: 'api', host, port, setting: 'PORT' },
    { listener: 'metrics', host, port: metricsPort, setting: 'GATEWRIGHT_METRICS_PORT' },
    {
      listener: 'inference',
      host,
      port: inferencePort(settings),
      setting: 'GATEWRIGHT_INFERENCE_PORT',
    },
    { listener: 'mcp', host, port: mcpPort(settings), setting: 'GATEWRIGHT_MCP_PORT' },
    ...(mocksUpstream
      ? [
          {
            listener: 'mockUpstream' as const,
            host: mockHost.hostname,
            // --port 0 selects free ports for everything.
            port: port === 0 ? 0 : Number(mockHost.port),
            setting: null,
          },
        ]
      : []),
  ];
}

async function requirePort(
  { host, port, setting }: WantedPort,
  taken: ReadonlySet<number>,
): Promise<number> {
  const fault = await faultOf(host, port, taken);
  if (fault === null) return port;
  throw listenFailure(host, port, setting ?? 'the port', fault);
}

async function replacePort(
  { listener, host, port, setting }: WantedPort,
  last: number,
  taken: ReadonlySet<number>,
  progress: (line: string) => void,
): Promise<number> {
  if (port === 0) return 0;
  for (const candidate of new Set([last, port])) {
    const fault = await faultOf(host, candidate, taken);
    if (fault === null) return candidate;
    if (fault.code !== 'EADDRINUSE') {
      throw listenFailure(host, candidate, setting ?? 'the port', fault);
    }
  }
  const free = await freePort(host);
  const change = setting === null ? '' : `; ${setting} sets another`;
  progress(`port ${port} is in use: ${names[listener]} gets ${free}, also from now on${change}`);
  return free;
}

const names: Readonly<Record<Listener, string>> = {
  api: 'the Admin API',
  inference: 'inference',
  mcp: 'MCP',
  metrics: 'the metrics',
  mockUpstream: 'the mock upstream',
};

/** The error of a listen attempt; null on success. */
async function faultOf(
  host: string,
  port: number,
  taken: ReadonlySet<number>,
): Promise<NodeJS.ErrnoException | null> {
  if (port !== 0 && taken.has(port)) {
    return Object.assign(new Error('taken by another listener'), { code: 'EADDRINUSE' });
  }
  const probe = createServer();
  try {
    await once(probe.listen(port, host), 'listening');
    return null;
  } catch (error) {
    return error as NodeJS.ErrnoException;
  } finally {
    probe.close();
  }
}

async function freePort(host: string): Promise<number> {
  const probe = createServer();
  await once(probe.listen(0, host), 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}
