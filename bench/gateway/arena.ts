/** Knows the contest: everybody started, the same upstream behind them, and what each is sent. */
import { startTestDatabaseServer, type TestDatabaseServer } from '../../test/support/database/database-server.ts';
import { environment, setUp } from '../product.ts';
import {
  type Contestant,
  keepOffGateways,
  startBare,
  startOurs,
  startPeer,
  startStub,
  stop,
} from './contestants.ts';
import { requestBytes } from './load-client.ts';
import { type BenchTenant, fillTenant } from './tenant-of-bench.ts';

/** `direct` is the upstream itself. */
export type Name = 'direct' | 'bare' | 'peer' | 'ours';
export const allNames: readonly Name[] = ['direct', 'bare', 'peer', 'ours'];
export const gatewayNames = ['bare', 'peer', 'ours'] as const;

export interface Arena extends AsyncDisposable {
  readonly running: Readonly<Record<Name, Contestant>>;
  readonly database: { readonly server: TestDatabaseServer; readonly pid: number };
  readonly tenant: BenchTenant;
  /** A chat completion, as this one is asked for it; ours by the key with limits. */
  request(name: Name, body: object): Buffer;
  /** Another process of the kind, to be stopped by who started it. */
  startAnother(name: (typeof gatewayNames)[number]): Promise<Contestant>;
  /** This build of ours and the others that are asked for, by their paths; likewise. */
  startBuilds(): Promise<readonly { readonly name: string; readonly contestant: Contestant }[]>;
}

export async function openArena(asked: {
  readonly keys: number;
  readonly configs: number;
  readonly builds: readonly string[];
  /** Of Node, for ours. */
  readonly nodeOptions: string;
}): Promise<Arena> {
  const { builds, nodeOptions } = asked;
  const stack = new AsyncDisposableStack();
  const keep = async (starting: Promise<Contestant>): Promise<Contestant> => {
    const one = await starting;
    stack.defer(() => stop(one, nodeOptions === '' ? 'SIGKILL' : 'SIGTERM'));
    return one;
  };
  try {
    stack.use(keepOffGateways());
    const database = await startTestDatabaseServer();
    stack.defer(() => database.stop());
    const direct = await keep(startStub());
    const env = {
      ...environment(database.server),
      TRUSTED_CUSTOM_HOSTS: new URL(direct.url).host,
    };
    const tenant = await fillTenant(env, await setUp(database.server, env), direct.url, asked);
    const oursEnv = nodeOptions === '' ? env : { ...env, NODE_OPTIONS: nodeOptions };
    const start = {
      bare: () => startBare(direct.url),
      peer: startPeer,
      ours: () => startOurs(oursEnv),
    };
    const [bare, peer, ours] = [
      await keep(start.bare()),
      await keep(start.peer()),
      await keep(start.ours()),
    ];
    return {
      ...{ database, tenant, running: { direct, bare, peer, ours } },
      request: (name, body) => requestBytes(headersFor(name, direct.url, tenant.limitedKey), body),
      startAnother: (name) => start[name](),
      startBuilds: async () => {
        const started = [{ name: 'this build', contestant: await start.ours() }];
        for (const path of builds) {
          started.push({ name: path, contestant: await startOurs(oursEnv, path) });
        }
        return started;
      },
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

function headersFor(name: Name, upstream: string, key: string): Record<string, string> {
  if (name === 'ours') return { authorization: `Bearer ${key}` };
  const credential = { authorization: 'Bearer sk-bench' };
  if (name !== 'peer') return credential;
  return {
    ...credential,
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${upstream}/v1`,
  };
}

/** A usual question of 0.7 kB. */
export function chatBody(more: object = {}): object {
  return {
    model: 'gpt-4o-mini',
    ...more,
    messages: [
      { role: 'system', content: 'You are a support agent. '.repeat(12).trim() },
      { role: 'user', content: 'Where is my order? '.repeat(10).trim() },
    ],
    temperature: 0.2,
    max_tokens: 400,
  };
}

/** A stream of so many events; the pace stands near the beginning of the body. */
export function streamBody(events: number, apartMs: number): object {
  return {
    ...{ model: 'gpt-4o-mini', stream: true, max_tokens: 400 },
    messages: [{ role: 'user', content: `pace ${events}x${apartMs}` }],
  };
}

/** With a prompt of 100 kB. */
export function largeBody(): object {
  const words = 'A sentence with "quotes", a line\nbreak and häufige Umlaute. ';
  return {
    ...{ model: 'gpt-4o-mini', max_tokens: 400 },
    messages: [{ role: 'user', content: words.repeat(Math.ceil(100_000 / words.length)) }],
  };
}
