/** Knows answers that were given before: which requests are one and the same, how long an answer is good, and how many are kept. */
import { createHash } from 'node:crypto';
import type { TargetSettings } from '../../model/config-tree.ts';
import { endpointOf } from '../../model/endpoint.ts';
import { membersOf } from '../../model/json-object.ts';
import type { AnswerHeaders } from '../../upstream/call.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

/** As the header of an answer says it. */
export type CacheStatus = 'DISABLED' | 'HIT' | 'MISS' | 'REFRESH';

export interface KeptAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  /** When it was given; ms since the epoch. */
  readonly keptAt: number;
}

/** What a request may have of the cache. */
export interface CacheUse {
  /** What the same request would have, too; null where nothing is kept. */
  readonly mark: string | null;
  readonly maxAgeMs: number;
  /** What is kept is not good enough for the caller. */
  readonly isRefresh: boolean;
}

/** All answers together, and one of them. */
const bytesMaxUsual = 64 * 1024 * 1024;
const answerBytesMax = 1024 * 1024;
/** Of an answer beside its body, about. */
const entryBytes = 512;

/** Of this process. The least recently asked for go when there are too many. */
export class AnswerCache {
  readonly #bytesMax: number;
  readonly #answers = new Map<string, KeptAnswer>();
  #bytes = 0;

  constructor(bytesMax = bytesMaxUsual) {
    this.#bytesMax = bytesMax;
  }

  /** Null for none that is good. */
  find({ mark, maxAgeMs, isRefresh }: CacheUse, now: number): KeptAnswer | null {
    const kept = mark === null || isRefresh ? undefined : this.#answers.get(mark);
    if (kept === undefined || now - kept.keptAt >= maxAgeMs) return null;
    this.#answers.delete(mark!);
    this.#answers.set(mark!, kept);
    return kept;
  }

  /** Keeps an answer that came whole, if it is one that can be given again. */
  keep(
    mark: string,
    { status, headers, body }: { status: number; headers: AnswerHeaders; body: Buffer },
    now: number,
  ): void {
    const contentType = headers['content-type'];
    if (status < 200 || status > 299 || body.length > answerBytesMax) return;
    if (typeof contentType !== 'string' || !contentType.startsWith('application/json')) return;
    if (headers['content-encoding'] !== undefined || !isAnswer(body)) return;
    this.#drop(mark);
    // A copy of its own: what came may be a part of something larger.
    const own = Buffer.allocUnsafeSlow(body.length);
    body.copy(own);
    this.#answers.set(mark, { status, contentType, body: own, keptAt: now });
    this.#bytes += own.length + entryBytes;
    while (this.#bytes > this.#bytesMax) this.#drop(this.#answers.keys().next().value!);
  }

  #drop(mark: string): void {
    const kept = this.#answers.get(mark);
    if (kept === undefined) return;
    this.#answers.delete(mark);
    this.#bytes -= kept.body.length + entryBytes;
  }
}

/** Some services tell of a failure with a status of 200. */
function isAnswer(body: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null && !('error' in value && value.error);
  } catch {
    return false;
  }
}

/** Whose answers leave nothing behind at the provider. */
const keptEndpoints = new Set(['chat_completions', 'completions', 'embeddings', 'messages']);
const notUsed: CacheUse = { mark: null, maxAgeMs: 0, isRefresh: false };
const namespaceCharsMax = 256;

/** What the config of a target and the headers of the request say of the cache. */
export function cacheUseOf(
  { cache }: TargetSettings,
  target: ResolvedTarget,
  exchange: Exchange,
): CacheUse {
  if (cache?.mode !== 'simple') return notUsed;
  const { request, header, params, isJson, path } = exchange;
  const isKept = request.method === 'POST' && isJson && keptEndpoints.has(endpointOf(path));
  const isThreaded = (params.thread ?? null) !== null;
  if (!isKept || isThreaded || params.stream === true) return notUsed;
  const namespace = header('cache-namespace') ?? '';
  if (namespace.length > namespaceCharsMax) {
    const message = `x-gateway-cache-namespace must have at most ${namespaceCharsMax} characters`;
    throw new GatewayError('invalid_request', message, 'x-gateway-cache-namespace');
  }
  return {
    mark: markOf(target, exchange, namespace),
    maxAgeMs: cache.maxAgeSeconds * 1000,
    isRefresh: header('cache-force-refresh')?.toLowerCase() === 'true',
  };
}

/** What goes to the provider but has no part in its answer. */
const passingHeaders = new Set(['traceparent', 'tracestate', 'idempotency-key']);

/**
 * Whose request it is, and all that the provider would be told, its credential with it. The members of
 * the body may stand in any order; their values count byte for byte, so that no two requests are taken
 * for one that a provider could tell apart.
 */
function markOf(
  { provider, call }: ResolvedTarget,
  { key, path: askedPath }: Exchange,
  namespace: string,
): string {
  const hash = createHash('sha256');
  const add = (part: string | Buffer): void => {
    hash.update(`${Buffer.byteLength(part)}:`).update(part);
  };
  const { origin, path, headers, body } = call;
  for (const part of [key.organisationId, key.workspace?.id ?? '', namespace, provider]) add(part);
  // The path that was asked for, too: what goes to the provider may be a translation of it.
  for (const part of [origin, path, askedPath]) add(part);
  const names = Object.keys(headers).filter((name) => !passingHeaders.has(name));
  add(String(names.length));
  for (const name of names.toSorted()) add(`${name}: ${headers[name]}`);
  const members = membersOf(body!);
  for (const name of [...members!.keys()].toSorted()) {
    const { valueStart, end } = members!.get(name)!;
    add(name);
    add(body!.subarray(valueStart, end));
  }
  return hash.digest('base64');
}
