/** Knows what is looked at of one case at one gateway: what the provider saw, and what the caller got. */
import { request as send } from 'undici';
import { type Case, chat, roomAddress } from './case.ts';
import type { Reached, ScriptedUpstream } from './scripted-upstream.ts';

/** By the name of the part: `calls`, `status` and so on; each is compared by itself. */
export type Observed = Readonly<Record<string, unknown>>;

export interface ObserveOptions {
  readonly upstream: ScriptedUpstream;
  /** `http://127.0.0.1:port` */
  readonly gateway: string;
  /** Shown to the gateway, beside the headers of the case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What HTTP needs to come there, or who sends it says of itself. */
const ofTransport = new Set([
  ...['host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'date'],
  ...['accept', 'accept-encoding', 'accept-language', 'sec-fetch-mode', 'user-agent'],
]);

export async function observe(one: Case, options: ObserveOptions): Promise<Observed> {
  const { base, reached } = options.upstream.room(one.script ?? {});
  const placed = (text: string): string => text.replaceAll(roomAddress, base);
  const { method = 'POST', path = '/v1/chat/completions', config, body = chat } = one;
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body);
  const given = Object.entries({
    ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
    ...(config === undefined ? {} : { 'x-portkey-config': configText(config) }),
    ...one.headers,
    ...options.headers,
  });
  const response = await send(options.gateway + path, {
    method: method as 'POST',
    headers: Object.fromEntries(given.map(([name, value]) => [name, placed(value)])),
    body: method === 'POST' ? (isRaw ? body : JSON.stringify(body)) : null,
  });
  const text = await response.body.text().catch(() => '(cut off)');
  return { ...seen(reached), ...got(response.statusCode, response.headers, text, base) };
}

function configText(config: object | string): string {
  return typeof config === 'string' ? config : JSON.stringify(config);
}

function seen(reached: readonly Reached[]): Observed {
  return {
    calls: reached.map(({ place, method, path }) => `${place} ${method} ${path}`),
    'bodies sent': reached.map(({ body }) => parsed(body)),
    'headers sent': reached.map(({ headers }) => kept(headers)),
  };
}

function got(
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  text: string,
  base: string,
): Observed {
  const ours = (name: string): unknown => headers[`x-portkey-${name}`] ?? null;
  const theirs = Object.entries(headers).filter(([name]) => !isOfGateway(name));
  return {
    status,
    'body got': parsed(text.replaceAll(base, roomAddress)),
    'headers got': kept(Object.fromEntries(theirs)),
    'retry count': ours('retry-attempt-count'),
    'option index': ours('last-used-option-index'),
    provider: ours('provider'),
  };
}

const isOfGateway = (name: string): boolean => name.startsWith('x-portkey-');

function kept(headers: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ofTransport.has(name)));
}

/** Integers of more digits than a double holds are compared by these. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/(?<=[:,[])\d{16,}(?=[,}\]])/g, '"$&"'));
  } catch {
    return text;
  }
}
