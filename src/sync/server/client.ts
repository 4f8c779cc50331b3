/** Knows how to talk to the Admin API: its token, its pace, what to repeat, and how its errors read. */
import { setTimeout as delay } from 'node:timers/promises';
import { errors, Pool } from 'undici';
import { type Clock, systemClock } from '../../clock.ts';
import { Failure } from '../../failure.ts';
import type { Secret } from '../../secret.ts';
import { Pace } from './pace.ts';

export interface ClientOptions {
  /** Base of `/v2` and `/admin/v2` paths. */
  readonly adminBaseUrl: string;
  /** Base of `/v1` paths; ends in `/v1`. */
  readonly baseUrl: string;
  /** Base of `/oauth2/access_token`. */
  readonly authUrl: string;
  readonly tsgId: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  /** Where the credentials come from, for messages: a file name. */
  readonly credentialsOrigin?: string;
  /** Sent with deletes, so that the server refuses to remove what another owner declared. */
  readonly owner: string;
  readonly clock?: Clock;
  /** Uniform in [0, 1); spreads repeats. */
  readonly random?: () => number;
  /** Pauses between repeats; ends early, by throwing, when the signal is aborted. */
  readonly pause?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With mount and query: `/v2/configs`. */
  readonly path: string;
  readonly body?: unknown;
  /** Version for `If-Match`. */
  readonly ifMatch?: number | null;
  /** Raw value for `If-None-Match`. */
  readonly ifNoneMatch?: string | null;
  /** Ends waiting for a turn and repeating; a request under way is never cut off. */
  readonly signal?: AbortSignal | undefined;
}

export interface ApiResponse {
  readonly status: number;
  readonly body: unknown;
  readonly etag: string | null;
}

/** An answer of the API that is an error. `status` is HTTP's, the rest the error body's. */
export class ApiRefusal extends Error {
  override name = 'ApiRefusal';
  readonly status: number;
  readonly code: string;
  readonly param: string;
  /** An earlier try of the same request may have been carried out although no answer came. */
  readonly maybeDone: boolean;

  constructor(
    status: number,
    fields: { message: string; code: string; param: string },
    maybeDone: boolean,
  ) {
    super(fields.message);
    this.status = status;
    this.code = fields.code;
    this.param = fields.param;
    this.maybeDone = maybeDone;
  }
}

/** The server cannot be reached, stays overloaded, or refuses the credentials; exit code 6. */
export class Unreachable extends Failure {
  override name = 'Unreachable';

  constructor(message: string, options?: ErrorOptions) {
    super('unreachable', message, options);
  }
}

const triesMax = 6;
const backoffMsMin = 200;
const backoffMsMax = 10_000;
const retryAfterMsMax = 60_000;
const tokenMarginMs = 60_000;
const connectTimeoutMs = 5_000;
const answerTimeoutMs = 30_000;
const answerBytesMax = 256 * 1024 * 1024;
const connectionsMax = 16;
const repeatable = new Set([408, 425, 429, 502, 503, 504]);
/** Answers that say "less": everything repeatable but the ones about this request alone. */
const overload = new Set([408, 429, 502, 503, 504]);

/** One server, one service account. Safe to use from many places at once; dispose closes its sockets. */
export class AdminClient implements AsyncDisposable {
  readonly owner: string;
  readonly #options: ClientOptions;
  readonly #clock: Clock;
  readonly #pools = new Map<string, Pool>();
  readonly #pace = new Pace({ start: 4, max: connectionsMax });
  #token: Promise<{ value: string; refreshAt: number }> | null = null;
  #requests = 0;
  #writes = 0;

  constructor(options: ClientOptions) {
    this.owner = options.owner;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** HTTP requests sent since the start, the token's and repeats included. */
  get requests(): number {
    return this.#requests;
  }

  /** Those of them that could change something. */
  get writes(): number {
    return this.#writes;
  }

  /**
   * Sends one request, repeating it after connection errors, timeouts and the statuses of an
   * overloaded server. Creates are repeated too: a declared identity exists once on the server, so
   * that a second create is refused and the caller looks (see `maybeDone`).
   *
   * @throws ApiRefusal for every other error answer
   * @throws Unreachable once all tries have failed
   */
  async request(request: ApiRequest): Promise<ApiResponse> {
    let maybeDone = false;
    let freshToken = false;
    for (let tried = 1; ; tried += 1) {
      const outcome = await this.#pace.take(() => this.#try(request), request.signal);
      if (!('failed' in outcome)) {
        if (outcome.status < 400) return outcome;
        if (outcome.status === 401 && !freshToken) {
          freshToken = true;
          this.#token = null;
          continue;
        }
        if (outcome.status === 401) throw this.#refusedCredentials(outcome.body);
        if (!repeatable.has(outcome.status)) {
          throw new ApiRefusal(
            outcome.status,
            errorFields(outcome.body, outcome.status),
            maybeDone,
          );
        }
      }
      maybeDone ||= !('failed' in outcome) || !outcome.neverSent;
      if (tried >= triesMax) throw this.#gaveUp(request, outcome);
      await this.#pauseBefore(tried, outcome, request.signal);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  async #try(request: ApiRequest): Promise<Outcome> {
    const token = await this.#currentToken(request.signal);
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    if (request.body !== undefined) headers['content-type'] = 'application/json';
    if (request.method === 'DELETE') headers['gatewright-owner'] = this.owner;
    if (typeof request.ifMatch === 'number') headers['if-match'] = `"${request.ifMatch}"`;
    if (typeof request.ifNoneMatch === 'string') headers['if-none-match'] = request.ifNoneMatch;
    if (request.method !== 'GET') this.#writes += 1;
    const { baseUrl, adminBaseUrl } = this.#options;
    const url = request.path.startsWith('/v1/')
      ? new URL(`${trimmed(baseUrl)}${request.path.slice('/v1'.length)}`)
      : new URL(`${trimmed(adminBaseUrl)}${request.path}`);
    const body = request.body === undefined ? null : JSON.stringify(request.body);
    const outcome = await this.#send(url, request.method, headers, body);
    this.#pace.report('failed' in outcome || overload.has(outcome.status));
    return outcome;
  }

  async #send(
    url: URL,
    method: ApiRequest['method'],
    headers: Record<string, string>,
    body: string | null,
  ): Promise<Outcome> {
    this.#requests += 1;
    try {
      const answer = await this.#pool(url.origin).request({
        path: url.pathname + url.search,
        method,
        headers: { accept: 'application/json', ...headers },
        body,
      });
      const text = await answer.body.text();
      return {
        status: answer.statusCode,
        body: parsed(text),
        etag: single(answer.headers.etag),
        retryAfter: single(answer.headers['retry-after']),
      };
    } catch (error) {
      return { failed: error, neverSent: isNeverSent(error) };
    }
  }

  #pool(origin: string): Pool {
    const known = this.#pools.get(origin);
    if (known !== undefined) return known;
    const pool = new Pool(origin, {
      connections: connectionsMax,
      pipelining: 1,
      connect: { timeout: connectTimeoutMs },
      headersTimeout: answerTimeoutMs,
      bodyTimeout: answerTimeoutMs,
      maxResponseSize: answerBytesMax,
    });
    this.#pools.set(origin, pool);
    return pool;
  }

  /** One token for all; asked for anew a minute before it ends. */
  async #currentToken(signal: AbortSignal | undefined): Promise<string> {
    const held = this.#token;
    if (held !== null) {
      const { value, refreshAt } = await held;
      if (this.#clock.now() < refreshAt) return value;
      if (this.#token === held) this.#token = null;
    }
    this.#token ??= this.#fetchToken(signal);
    const asked = this.#token;
    try {
      return (await asked).value;
    } catch (error) {
      if (this.#token === asked) this.#token = null;
      throw error;
    }
  }

  async #fetchToken(
    signal: AbortSignal | undefined,
  ): Promise<{ value: string; refreshAt: number }> {
    const { authUrl, clientId, clientSecret, tsgId } = this.#options;
    const basic = Buffer.from(`${clientId}:${clientSecret.reveal()}`).toString('base64');
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      scope: `tsg_id:${tsgId}`,
    });
    const headers = {
      authorization: `Basic ${basic}`,
      'content-type': 'application/x-www-form-urlencoded',
    };
    const url = new URL(`${trimmed(authUrl)}/oauth2/access_token`);
    for (let tried = 1; ; tried += 1) {
      const outcome = await this.#send(url, 'POST', headers, form.toString());
      if (!('failed' in outcome) && !repeatable.has(outcome.status)) {
        return this.#tokenFrom(outcome);
      }
      if (tried >= triesMax) throw this.#gaveUp({ method: 'POST', path: url.pathname }, outcome);
      await this.#pauseBefore(tried, outcome, signal);
    }
  }

  #tokenFrom(answer: ApiResponse): { value: string; refreshAt: number } {
    const body = answer.body as { access_token?: unknown; expires_in?: unknown } | null;
    if (answer.status === 200 && typeof body?.access_token === 'string') {
      const lifeMs = typeof body.expires_in === 'number' ? body.expires_in * 1000 : 0;
      return { value: body.access_token, refreshAt: this.#clock.now() + lifeMs - tokenMarginMs };
    }
    throw this.#refusedCredentials(answer.body);
  }

  #refusedCredentials(body: unknown): Unreachable {
    const { clientId, authUrl, tsgId, credentialsOrigin } = this.#options;
    const file = credentialsOrigin === undefined ? 'the credentials' : credentialsOrigin;
    const reason = errorFields(body, 401).message;
    return new Unreachable(
      `${authUrl} refuses client "${clientId}" for tenant ${tsgId}: ${reason}\n\
Check clientId, clientSecret and tsgId in ${file}.`,
    );
  }

  async #pauseBefore(
    tried: number,
    outcome: Outcome,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const random = this.#options.random ?? Math.random;
    const pause = this.#options.pause ?? pauseFor;
    const ceiling = Math.min(backoffMsMax, backoffMsMin * 2 ** (tried - 1));
    const asked = 'failed' in outcome ? null : retryAfterMs(outcome.retryAfter, this.#clock.now());
    const waitMs = asked === null ? ceiling / 2 + (ceiling / 2) * random() : asked;
    await pause(waitMs, signal);
  }

  #gaveUp(request: Pick<ApiRequest, 'method' | 'path'>, outcome: Outcome): Unreachable {
    const reason =
      'failed' in outcome
        ? describeFault(outcome.failed)
        : `it keeps answering ${outcome.status} (${errorFields(outcome.body, outcome.status).message})`;
    const { adminBaseUrl } = this.#options;
    return new Unreachable(
      `cannot reach ${adminBaseUrl}: ${request.method} ${request.path.split('?')[0]} failed ${triesMax} \
times, ${reason}.\nCheck that the server runs and that adminBaseUrl is right.`,
      'failed' in outcome ? { cause: outcome.failed } : undefined,
    );
  }
}

type Outcome =
  | (ApiResponse & { readonly retryAfter: string | null })
  | { readonly failed: unknown; readonly neverSent: boolean };

/** Nothing of the request can have arrived. */
function isNeverSent(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | null)?.code ?? '';
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'].includes(code);
}

function describeFault(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | null)?.code ?? '';
  if (code === 'ECONNREFUSED') return 'nothing listens there (connection refused)';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'its name cannot be resolved';
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError) {
    return `it did not answer within ${answerTimeoutMs / 1000} s`;
  }
  return error instanceof Error ? error.message || code : String(error);
}

/** Reads any of the published error shapes (contract.md 1.4, RFC 6749 5.2). */
function errorFields(
  body: unknown,
  status: number,
): { message: string; code: string; param: string } {
  const outer = asRecord(body);
  const inner = typeof outer.error === 'object' ? asRecord(outer.error) : outer;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return {
    message:
      text(inner.message) ||
      text(outer.error_description) ||
      text(outer.error) ||
      `status ${status} without an explanation`,
    code: text(inner.code),
    param: text(inner.param),
  };
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function parsed(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

/** Seconds or a date (RFC 9110 10.2.3); null when absent or unreadable. */
function retryAfterMs(value: string | null, now: number): number | null {
  if (value === null) return null;
  const waitMs = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isNaN(waitMs) ? null : Math.min(retryAfterMsMax, Math.max(0, waitMs));
}

function single(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null;
}

function trimmed(url: string): string {
  return url.replace(/\/+$/, '');
}

async function pauseFor(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal });
}
