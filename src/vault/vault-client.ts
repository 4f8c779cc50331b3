/** Sends requests to a Vault, with a token that it obtains and renews. */
/*
 * Vault publishes no client for Node. The npm packages wrap the same few requests without check-and-set rules,
 * limits or token renewal.
 */
import type { Clock } from '../clock.ts';
import { Failure } from '../failure.ts';
import { JsonExchange } from '../remote/json-exchange.ts';
import type { Secret } from '../secret.ts';
import { readSettingFile, type VaultAccess } from './vault-access.ts';
import { errorsIn, type VaultRequest, type VaultResponse } from './vault-exchange.ts';
import { VaultToken } from './vault-token.ts';

/** No response arrived, or Vault is sealed. The request may have been carried out. */
export class VaultUnreachable extends Failure {
  constructor(message: string, options?: ErrorOptions) {
    super('unreachable', message, options);
  }
}

const responseBytesMax = 8 * 1024 * 1024;

/** Client of one Vault; dispose closes its sockets. */
export class VaultClient implements AsyncDisposable {
  readonly #access: VaultAccess;
  readonly #exchange: JsonExchange;
  readonly #token: VaultToken;

  /**
   * @param pause resolves after that many milliseconds
   * @throws Failure when the file of certificate authorities cannot be read
   */
  constructor(access: VaultAccess, clock: Clock, pause: (ms: number) => Promise<void>) {
    this.#access = access;
    const { caFile, address, proxies = null, limits, createConnector } = access;
    this.#exchange = new JsonExchange({
      address,
      proxies,
      responseBytesMax,
      clock,
      pause,
      limits,
      createConnector,
      tls: caFile === null ? {} : { ca: readSettingFile(caFile, 'GATEWRIGHT_VAULT_CA_FILE') },
      isUnavailable: (status) => status >= 500 || isRedirect(status),
      // 412: this replica of Vault has not received the write that the token depends on.
      isRetryLater: (status) => status === 429 || status === 412,
      honorsRetryAfter: false,
      describeUnavailable: ({ status, body }) => describe(status, body),
      unreachable: (reason, cause) => {
        const message = `Vault at ${address.origin} is out of reach: ${reason}`;
        return new VaultUnreachable(message, { cause });
      },
    });
    const send = (request: VaultRequest, token: Secret | null): Promise<VaultResponse> =>
      this.#send(request, token);
    this.#token = new VaultToken(access.login, clock, send);
  }

  /**
   * Resolves with any response below status 500. Reads are retried when no response arrives; a rejected
   * token is replaced once.
   *
   * @throws VaultUnreachable, and Failure when the login fails; neither quotes what was sent
   */
  async request(request: VaultRequest): Promise<VaultResponse> {
    const token = await this.#token.current();
    const response = await this.#send(request, token);
    if (response.status !== 403) return response;
    const next = await this.#token.replacementOf(token);
    return next === null ? response : await this.#send(request, next);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#exchange[Symbol.asyncDispose]();
  }

  #send({ method, path, query, body }: VaultRequest, token: Secret | null): Promise<VaultResponse> {
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

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

function describe(status: number, body: unknown): string {
  const messages = errorsIn(body);
  if (messages.some((message) => message.includes('sealed'))) return 'it is sealed';
  if (isRedirect(status)) {
    return `it redirects (${status}), and redirects are not followed; set GATEWRIGHT_VAULT_ADDRESS to the active node`;
  }
  return `it responds with ${status}${messages.length === 0 ? '' : `: ${messages.join('; ').slice(0, 200)}`}`;
}
