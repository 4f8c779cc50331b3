/** Observes one case at one gateway: the provider's requests and the caller's response. */
import { request as send } from 'undici';
import { type Case, chat, roomAddress } from './case.ts';
import type { ReceivedRequest, ScriptedUpstream } from './scripted-upstream.ts';

/** By part: `calls`, `status` and so on; each is compared separately. */
export type Observation = Readonly<Record<string, unknown>>;

export interface ObserveOptions {
  readonly upstream: ScriptedUpstream;
  /** `http://127.0.0.1:port` */
  readonly gateway: string;
  /** Sent to the gateway beside the headers of the case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Headers that HTTP requires, or that describe the client. */
const ofTransport = new Set([
  'host',
  'connection',
  'keep-alive',
  'content-length',
  'transfer-encoding',
  'date',
  'accept',
  'accept-encoding',
  'accept-language',
  'sec-fetch-mode',
  'user-agent',
]);

export async function observe(one: Case, options: ObserveOptions): Promise<Observation> {
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

function seen(reached: readonly ReceivedRequest[]): Observation {
  return {
    calls: reached.map(({ place, method, path }) => `${place} ${method} ${path}`),
    'bodies sent': reached.map(({ body }) => parsed(body)),
    'headers sent': reached.map(({ headers }) => stored(headers)),
  };
}

function got(
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  text: string,
  base: string,
): Observation {
  const ours = (name: string): unknown => headers[`x-portkey-${name}`] ?? null;
  const theirs = Object.entries(headers).filter(([name]) => !isOfGateway(name));
  return {
    status,
    'body got': parsed(text.replaceAll(base, roomAddress)),
    'headers got': stored(Object.fromEntries(theirs)),
    'retry count': ours('retry-attempt-count'),
    'option index': ours('last-used-option-index'),
    provider: ours('provider'),
  };
}

const isOfGateway = (name: string): boolean => name.startsWith('x-portkey-');

function stored(headers: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ofTransport.has(name)));
}

/** Integers beyond a double's precision are compared by their digits. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/(?<=[:,[])\d{16,}(?=[,}\]])/g, '"$&"'));
  } catch {
    return text;
  }
}
