/** Starts all contestants behind the same upstream and builds the requests for each. */
import {
  startTestDatabaseServer,
  type TestDatabaseServer,
} from '../../test/support/database/database-server.ts';
import { environment, setUp } from '../product.ts';
import { type BenchTenant, fillTenant } from './bench-tenant.ts';
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

/** `direct` is the upstream without a gateway. */
export type TargetName = 'direct' | 'bare' | 'peer' | 'ours';
export const allNames: readonly TargetName[] = ['direct', 'bare', 'peer', 'ours'];
export const gatewayNames = ['bare', 'peer', 'ours'] as const;

export interface Arena extends AsyncDisposable {
  readonly running: Readonly<Record<TargetName, Contestant>>;
  readonly database: { readonly server: TestDatabaseServer; readonly pid: number };
  readonly tenant: BenchTenant;
  /** Encodes a chat completion for the given contestant; ours uses the key with limits. */
  request(name: TargetName, body: object): Buffer;
  /** Starts another process of the kind. The caller stops it. */
  startAnother(name: (typeof gatewayNames)[number]): Promise<Contestant>;
  /** Starts this build and the requested other builds, named by path. The caller stops them. */
  startBuilds(): Promise<readonly { readonly name: string; readonly contestant: Contestant }[]>;
}

export async function openArena(requested: {
  readonly keys: number;
  readonly configs: number;
  readonly builds: readonly string[];
  /** Node options for our process; '' for none. */
  readonly nodeOptions: string;
}): Promise<Arena> {
  const { builds, nodeOptions } = requested;
  const stack = new AsyncDisposableStack();
  const stopLater = async (starting: Promise<Contestant>): Promise<Contestant> => {
    const one = await starting;
    stack.defer(() => stop(one, nodeOptions === '' ? 'SIGKILL' : 'SIGTERM'));
    return one;
  };
  try {
    stack.use(keepOffGateways());
    const database = await startTestDatabaseServer();
    stack.defer(() => database.stop());
    const direct = await stopLater(startStub());
    const env = {
      ...environment(database.server),
      TRUSTED_CUSTOM_HOSTS: new URL(direct.url).host,
    };
    const tenant = await fillTenant(env, await setUp(database.server, env), direct.url, requested);
    const oursEnv = nodeOptions === '' ? env : { ...env, NODE_OPTIONS: nodeOptions };
    const start = {
      bare: () => startBare(direct.url),
      peer: startPeer,
      ours: () => startOurs(oursEnv),
    };
    const [bare, peer, ours] = [
      await stopLater(start.bare()),
      await stopLater(start.peer()),
      await stopLater(start.ours()),
    ];
    return {
      database,
      tenant,
      running: { direct, bare, peer, ours },
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

function headersFor(name: TargetName, upstream: string, key: string): Record<string, string> {
  if (name === 'ours') return { authorization: `Bearer ${key}` };
  const credential = { authorization: 'Bearer sk-bench' };
  if (name !== 'peer') return credential;
  return {
    ...credential,
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${upstream}/v1`,
  };
}

/** A typical question of 0.7 kB. */
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

/** Requests a stream of that many events. The pace is near the beginning of the body. */
export function streamBody(events: number, apartMs: number): object {
  return {
    model: 'gpt-4o-mini',
    stream: true,
    max_tokens: 400,
    messages: [{ role: 'user', content: `pace ${events}x${apartMs}` }],
  };
}

/** Has a prompt of 100 kB. */
export function largeBody(): object {
  const words = 'A sentence with "quotes", a line\nbreak and häufige Umlaute. ';
  return {
    model: 'gpt-4o-mini',
    max_tokens: 400,
    messages: [{ role: 'user', content: words.repeat(Math.ceil(100_000 / words.length)) }],
  };
}
