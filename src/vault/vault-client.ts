/** Knows how a Vault is asked: signed in, one request at a time, and what no answer means. */
import { Pool } from 'undici';
import type { Clock } from '../clock.ts';
import { Failure } from '../failure.ts';
import type { Secret } from '../secret.ts';
import { readSettingFile, type VaultAccess } from './vault-access.ts';
import { errorsIn, type VaultAnswer, type VaultRequest } from './vault-exchange.ts';
import { VaultToken } from './vault-token.ts';

/** No answer came, or none of a Vault that is open. What was asked for may have been done. */
export class VaultUnreachable extends Failure {
  constructor(message: string, options?: ErrorOptions) {
    super('unreachable', message, options);
  }
}

const connectionsMax = 8;
const connectTimeoutMs = 5_000;
const answerTimeoutMs = 15_000;
const answerBytesMax = 8 * 1024 * 1024;
const triesMax = 3;
/** After a read without an answer all else fails at once, so that many wait no longer than one. */
const silenceMs = 5_000;

/** Of one Vault; dispose closes its sockets. */
export class VaultClient implements AsyncDisposable {
  readonly #access: VaultAccess;
  readonly #clock: Clock;
  readonly #pause: (ms: number) => Promise<void>;
  readonly #pool: Pool;
  readonly #token: VaultToken;
  #silent: { readonly until: number; readonly failure: VaultUnreachable } | null = null;

  /** @param pause waits that many milliseconds @throws Failure when the file of authorities cannot be read */
  constructor(access: VaultAccess, clock: Clock, pause: (ms: number) => Promise<void>) {
    this.#access = access;
    this.#clock = clock;
    this.#pause = pause;
    const { caFile, address } = access;
    this.#pool = new Pool(address.origin, {
      connections: connectionsMax,
      connect: {
        timeout: connectTimeoutMs,
        ...(caFile === null ? {} : { ca: readSettingFile(caFile, 'GATEWRIGHT_VAULT_CA_FILE') }),
      },
      headersTimeout: answerTimeoutMs,
      bodyTimeout: answerTimeoutMs,
      maxResponseSize: answerBytesMax,
    });
    const ask = (request: VaultRequest, token: Secret | null): Promise<VaultAnswer> =>
      this.#answer(request, token);
    this.#token = new VaultToken(access.login, clock, ask);
  }

  /**
   * Yields the answer, whatever its status below 500. What only reads is asked again when no answer
   * comes; a token that no longer counts is replaced once.
   *
   * @throws VaultUnreachable, and Failure when nobody can sign in; neither quotes what was sent
   */
  async request(request: VaultRequest): Promise<VaultAnswer> {
    const token = await this.#token.current();
    const answer = await this.#answer(request, token);
    if (answer.status !== 403) return answer;
    const next = await this.#token.replacementOf(token);
    return next === null ? answer : await this.#answer(request, next);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.destroy();
  }

  async #answer(request: VaultRequest, token: Secret | null): Promise<VaultAnswer> {
    if (this.#silent !== null && this.#clock.now() < this.#silent.until) throw this.#silent.failure;
    for (let tries = 1; ; tries += 1) {
      const { status, body, failed } = await this.#send(request, token);
      const isSilent = failed !== undefined || status >= 500 || (status >= 300 && status < 400);
      // 412: what this replica has is older than what the token was given for.
      const mayRepeat = status === 429 || status === 412 || (isSilent && request.method === 'GET');
      if (mayRepeat && tries < triesMax) {
        await this.#pause(200 * 2 ** tries);
        continue;
      }
      if (!isSilent) return { status, body };
      throw this.#unreachable(request, failed ?? new Error(reasonIn(status, body)));
    }
  }

  async #send({ method, path, query, body }: VaultRequest, token: Secret | null) {
    const search = query === undefined ? '' : `?${new URLSearchParams(query)}`;
    const { address, namespace } = this.#access;
    const base = address.pathname.replace(/\/$/, '');
    try {
      const answer = await this.#pool.request({
        method,
        path: `${base}/v1/${path}${search}`,
        headers: {
          accept: 'application/json',
          'user-agent': 'gatewright',
          'x-vault-request': 'true',
          ...(namespace === null ? {} : { 'x-vault-namespace': namespace }),
          ...(token === null ? {} : { 'x-vault-token': token.reveal() }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined ? null : JSON.stringify(body),
      });
      return { status: answer.statusCode, body: parsed(await answer.body.text()) };
    } catch (failed) {
      return { status: 0, body: null, failed };
    }
  }

  /** A write may have been done all the same, so that whoever asked for it will want to look. */
  #unreachable({ method }: VaultRequest, cause: unknown): VaultUnreachable {
    const reason = cause instanceof Error ? reasonOf(cause) : String(cause);
    const message = `Vault at ${this.#access.address.origin} is out of reach: ${reason}`;
    const failure = new VaultUnreachable(message, { cause });
    if (method === 'GET') this.#silent = { until: this.#clock.now() + silenceMs, failure };
    return failure;
  }
}

function reasonIn(status: number, body: unknown): string {
  const words = errorsIn(body);
  if (words.some((one) => one.includes('sealed'))) return 'it is sealed';
  if (status >= 300 && status < 400) {
    return `it sends elsewhere (${status}), which is not followed; name the active node in GATEWRIGHT_VAULT_ADDRESS`;
  }
  return `it answers ${status}${words.length === 0 ? '' : `: ${words.join('; ').slice(0, 200)}`}`;
}

function reasonOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return error.message === '' ? (code ?? error.name) : error.message;
}

function parsed(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return null;
  }
}
