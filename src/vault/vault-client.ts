/** Knows how a Vault is asked: signed in, one request at a time, and what no answer means. */
import type { Clock } from '../clock.ts';
import { Failure } from '../failure.ts';
import { JsonExchange } from '../remote/json-exchange.ts';
import type { Secret } from '../secret.ts';
import { readSettingFile, type VaultAccess } from './vault-access.ts';
import { errorsIn, type VaultResponse, type VaultRequest } from './vault-exchange.ts';
import { VaultToken } from './vault-token.ts';

/** No answer came, or none of a Vault that is open. What was asked for may have been done. */
export class VaultUnreachable extends Failure {
  constructor(message: string, options?: ErrorOptions) {
    super('unreachable', message, options);
  }
}

const answerBytesMax = 8 * 1024 * 1024;

/** Of one Vault; dispose closes its sockets. */
export class VaultClient implements AsyncDisposable {
  readonly #access: VaultAccess;
  readonly #exchange: JsonExchange;
  readonly #token: VaultToken;

  /** @param pause waits that many milliseconds @throws Failure when the file of authorities cannot be read */
  constructor(access: VaultAccess, clock: Clock, pause: (ms: number) => Promise<void>) {
    this.#access = access;
    const { caFile, address, proxies = null, limits: patience, createConnector: connectorTo } = access;
    this.#exchange = new JsonExchange({
      ...{ address, proxies, responseBytesMax: answerBytesMax, clock, pause, limits: patience, createConnector: connectorTo },
      tls: caFile === null ? {} : { ca: readSettingFile(caFile, 'GATEWRIGHT_VAULT_CA_FILE') },
      isUnavailable: (status) => status >= 500 || isElsewhere(status),
      // 412: what this replica has is older than what the token was given for.
      isRetryLater: (status) => status === 429 || status === 412,
      honorsRetryAfter: false,
      describeUnavailable: ({ status, body }) => reasonIn(status, body),
      unreachable: (reason, cause) => {
        const message = `Vault at ${address.origin} is out of reach: ${reason}`;
        return new VaultUnreachable(message, { cause });
      },
    });
    const ask = (request: VaultRequest, token: Secret | null): Promise<VaultResponse> =>
      this.#answer(request, token);
    this.#token = new VaultToken(access.login, clock, ask);
  }

  /**
   * Yields the answer, whatever its status below 500. What only reads is asked again when no answer
   * comes; a token that no longer counts is replaced once.
   *
   * @throws VaultUnreachable, and Failure when nobody can sign in; neither quotes what was sent
   */
  async request(request: VaultRequest): Promise<VaultResponse> {
    const token = await this.#token.current();
    const answer = await this.#answer(request, token);
    if (answer.status !== 403) return answer;
    const next = await this.#token.replacementOf(token);
    return next === null ? answer : await this.#answer(request, next);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#exchange[Symbol.asyncDispose]();
  }

  #answer({ method, path, query, body }: VaultRequest, token: Secret | null): Promise<VaultResponse> {
    const { namespace } = this.#access;
    const headers = (): Record<string, string> => ({
      'x-vault-request': 'true',
      ...(namespace === null ? {} : { 'x-vault-namespace': namespace }),
      ...(token === null ? {} : { 'x-vault-token': token.reveal() }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    });
    return this.#exchange.send({ method, path: `/v1/${path}`, query, headers, body });
  }
}

function isElsewhere(status: number): boolean {
  return status >= 300 && status < 400;
}

function reasonIn(status: number, body: unknown): string {
  const words = errorsIn(body);
  if (words.some((one) => one.includes('sealed'))) return 'it is sealed';
  if (isElsewhere(status)) {
    return `it sends elsewhere (${status}), which is not followed; name the active node as its address (GATEWRIGHT_VAULT_ADDRESS)`;
  }
  return `it answers ${status}${words.length === 0 ? '' : `: ${words.join('; ').slice(0, 200)}`}`;
}
