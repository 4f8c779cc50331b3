/** Caches responses of providers: which requests share a response, how long it is valid, and how much memory all may use. */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { TargetSettings } from '../../model/configs/config-tree.ts';
import { endpointOf } from '../../model/endpoints/catalogue.ts';
import { locateMembers } from '../../model/json/json-object.ts';
import { run, type Slices } from '../../slices.ts';
import type { ProviderHeaders } from '../../upstream/call.ts';
import type { Exchange } from '../callers/exchange.ts';
import type { ResolvedTarget } from '../targets/resolve-target.ts';
import { isLong } from '../transfer/changed-body.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

/** Value of the `cache-status` response header. */
export type CacheStatus =
  | 'DISABLED'
  | 'HIT'
  | 'MISS'
  | 'REFRESH'
  | 'SEMANTIC HIT'
  | 'SEMANTIC MISS';

export interface CachedResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  /** Milliseconds since the epoch. */
  readonly cachedAt: number;
}

/** A complete response of a provider, in the format of the caller. */
export interface WholeResponse {
  readonly status: number;
  readonly headers: ProviderHeaders;
  readonly body: Buffer;
}

/** How a request may use the cache. */
export interface CacheUse {
  /** Equal for requests that have the same response; null when the cache is not used. */
  readonly key: string | null;
  readonly maxAgeMs: number;
  /** The caller wants a new response, which replaces the cached one. */
  readonly isRefresh: boolean;
}

/** Bound of all cached responses together. */
const bytesMaxUsual = 64 * 1024 * 1024;
/** Bound of one response. */
const responseBytesMax = 1024 * 1024;
/** Approximate memory of an entry besides its body. */
const entryBytes = 512;

/** The cache of one process; evicts the least recently used responses when it is full. */
export class ResponseCache {
  readonly #entries: LRUCache<string, CachedResponse>;

  constructor(bytesMax = bytesMaxUsual) {
    this.#entries = new LRUCache({
      maxSize: bytesMax,
      sizeCalculation: ({ body }) => body.length + entryBytes,
    });
  }

  /** Null when there is no response that is recent enough. */
  find({ key, maxAgeMs, isRefresh }: CacheUse, now: number): CachedResponse | null {
    if (key === null || isRefresh) return null;
    const entry = this.#entries.peek(key);
    if (entry === undefined || now - entry.cachedAt >= maxAgeMs) return null;
    this.#entries.get(key);
    return entry;
  }

  /** Adds a complete JSON response of status 2xx; ignores any other. */
  add(key: string, response: WholeResponse, now: number): void {
    const { status, body } = response;
    const contentType = plainType(response);
    if (body.length > responseBytesMax || contentType?.startsWith('application/json') !== true)
      return;
    if (!isSuccess(body)) return;
    // A copy, because `body` may be a slice that keeps a larger buffer alive.
    const copy = Buffer.allocUnsafeSlow(body.length);
    body.copy(copy);
    this.#entries.set(key, { status, contentType, body: copy, cachedAt: now });
  }
}

/** The type of a successful response that is not encoded; null for any other response. */
export function plainType({ status, headers }: WholeResponse): string | null {
  const type = headers['content-type'];
  if (status < 200 || status > 299 || typeof type !== 'string') return null;
  return headers['content-encoding'] === undefined ? type : null;
}

/** Some services report a failure with status 200. */
export function isSuccess(body: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null && !('error' in value && value.error);
  } catch {
    return false;
  }
}

/** Endpoints whose requests change nothing at the provider. */
const cachedEndpoints = new Set([
  'chat_completions',
  'completions',
  'converse',
  'embed_content',
  'embeddings',
  'generate_content',
  'messages',
]);
const notUsed: CacheUse = { key: null, maxAgeMs: 0, isRefresh: false };
const namespaceCharsMax = 256;

/**
 * Combines the cache settings of the target with the cache headers of the request.
 *
 * @throws GatewayError when the namespace is too long
 */
export function cacheUseOf(
  { cache }: TargetSettings,
  target: ResolvedTarget,
  exchange: Exchange,
): CacheUse | Promise<CacheUse> {
  if (cache === null) return notUsed;
  if (!isCacheable(exchange) || exchange.params.stream === true) return notUsed;
  const use = { maxAgeMs: cache.maxAgeSeconds * 1000, isRefresh: isRefresh(exchange) };
  const key = run(cacheKeyOf(target, exchange, namespaceOf(exchange)), isLong(target.call.body));
  return key instanceof Promise ? key.then((text) => ({ key: text, ...use })) : { key, ...use };
}

/** Whether the request has the same response whenever it is sent. */
export function isCacheable({ request, params, isJson, path }: Exchange): boolean {
  const isThreaded = (params.thread ?? null) !== null;
  const isCached = request.method === 'POST' && isJson && cachedEndpoints.has(endpointOf(path));
  return isCached && !isThreaded;
}

/** Whether the caller wants a new response, which replaces the cached one. */
export function isRefresh({ header }: Exchange): boolean {
  return header('cache-force-refresh')?.toLowerCase() === 'true';
}

/** @throws GatewayError when the namespace is too long */
export function namespaceOf({ header }: Exchange): string {
  const namespace = header('cache-namespace') ?? '';
  if (namespace.length <= namespaceCharsMax) return namespace;
  const message = `x-gateway-cache-namespace must have at most ${namespaceCharsMax} characters`;
  throw new GatewayError('invalid_request', message, 'x-gateway-cache-namespace');
}

/** Bytes of a body that are hashed between two interruptions. */
const hashedBytes = 1024 * 1024;

/** Request headers that do not influence the response. */
const ignoredHeaders = new Set(['traceparent', 'tracestate', 'idempotency-key']);

/** Begins a hash of the tenant and of everything the provider receives but the body. */
export function callHash(
  { provider, tokens, signer, call }: ResolvedTarget,
  { key, path: requestPath }: Exchange,
  namespace: string,
) {
  const hash = createHash('sha256');
  const add = (part: string | Buffer): void => {
    hash.update(`${Buffer.byteLength(part)}:`).update(part);
  };
  const { origin, path, headers } = call;
  if (tokens) add(tokens.mark);
  if (signer) add(signer.mark);
  for (const part of [key.organisationId, key.workspace?.id ?? '', namespace, provider]) add(part);
  // The requested path counts too, because the path at the provider may be a translation of it.
  for (const part of [origin, path, requestPath]) add(part);
  const names = Object.keys(headers).filter((name) => !ignoredHeaders.has(name));
  add(String(names.length));
  for (const name of names.toSorted()) add(`${name}: ${headers[name]}`);
  return { hash, add };
}

/**
 * Hashes the tenant and everything the provider receives, including its credential. The members of the
 * body may be in any order. Their values are compared byte by byte, so that requests share an entry only
 * if no provider could tell them apart.
 */
function* cacheKeyOf(
  target: ResolvedTarget,
  exchange: Exchange,
  namespace: string,
): Slices<string> {
  const { hash, add } = callHash(target, exchange, namespace);
  const { body } = target.call;
  yield;
  const letters = isLong(body) ? body.toString('latin1') : undefined;
  yield;
  const members = locateMembers(body!, letters);
  for (const name of [...members!.keys()].toSorted()) {
    yield;
    const { valueStart, end } = members!.get(name)!;
    add(name);
    hash.update(`${end - valueStart}:`);
    for (let at = valueStart; at < end; at += hashedBytes) {
      hash.update(body!.subarray(at, Math.min(end, at + hashedBytes)));
      yield;
    }
  }
  return hash.digest('base64');
}
