/** Calls the control plane over mutual TLS, for a gateway without a database. */
import { errors } from 'undici';
import { monotonicMs } from '../monotonic.ts';
import { Pools } from '../remote/pools.ts';
import type { Proxies } from '../remote/proxies.ts';
import type { LinkCertificates } from '../settings/groups/control-link.ts';
import { DatabaseUnavailable, OutcomeUnknown } from '../store/connection/unavailable.ts';
import { contextOf, isSame } from './mutual-tls.ts';

export interface ControlLinkOptions {
  /** Origin of the control plane, https. */
  readonly url: URL;
  /** Reads the certificates again. @throws when they are not usable */
  readonly readCertificates: () => LinkCertificates;
  readonly proxies: Proxies | null;
  /** Reports that changed certificates are not usable; the previous ones are used on. */
  readonly onUnusable: (error: unknown) => void;
}

interface LinkResponse {
  readonly status: number;
  readonly body: Buffer;
}

/** Age at which certificates are read again. */
const renewEveryMs = 30_000;
const limits = {
  connectionsMax: 8,
  connectTimeoutMs: 3_000,
  /** More than an answer that waits for changes takes. */
  responseTimeoutMs: 40_000,
  responseBytesMax: 256 * 1024 * 1024,
};
/** Bound of a call that changes something. */
const callMs = 5_000;
/** Bound of a call that reads, and may wait for changes. */
const readMs = 30_000;

/** Dispose closes its sockets. */
export class ControlLink implements AsyncDisposable {
  readonly #options: ControlLinkOptions;
  #certificates: LinkCertificates;
  #pools: Pools;
  #readAtMs = monotonicMs();

  /** @throws when the certificates are not usable */
  constructor(options: ControlLinkOptions) {
    this.#options = options;
    this.#certificates = options.readCertificates();
    this.#pools = this.#open();
  }

  /**
   * Sends JSON and resolves with the parsed JSON of the response.
   *
   * @throws DatabaseUnavailable when nothing was sent, OutcomeUnknown when the control plane may have done it
   */
  async post(path: string, body: unknown): Promise<unknown> {
    const { origin } = this.#options.url;
    let response: LinkResponse;
    try {
      response = await this.#sendJson(path, body, callMs);
    } catch (error) {
      const cause = unreachable(origin, error);
      throw isUnsent(error) ? cause : new OutcomeUnknown(cause);
    }
    const { status } = response;
    const text = response.body.toString();
    if (status >= 500) throw new OutcomeUnknown(unreachable(origin, `status ${status}: ${text}`));
    if (status >= 400) throw new Error(`The control plane refused ${path} with ${status}: ${text}`);
    return JSON.parse(text);
  }

  /**
   * Sends JSON that changes nothing, and resolves with the bytes of the response.
   *
   * @throws DatabaseUnavailable when there is none, or it is an error
   */
  async read(path: string, body: unknown): Promise<Buffer> {
    const { origin } = this.#options.url;
    try {
      const response = await this.#sendJson(path, body, readMs);
      if (response.status === 200) return response.body;
      throw new Error(`status ${response.status}: ${response.body.toString()}`);
    } catch (error) {
      throw unreachable(origin, error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pools.destroy();
  }

  async #sendJson(path: string, message: unknown, withinMs: number): Promise<LinkResponse> {
    this.#renew();
    const { origin } = this.#options.url;
    const { statusCode, body } = await this.#pools.poolFor(origin).request({
      origin,
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(message),
      signal: AbortSignal.timeout(withinMs),
    });
    return { status: statusCode, body: Buffer.from(await body.arrayBuffer()) };
  }

  /** Opens new connections with certificates that have changed; requests in flight are finished on the old ones. */
  #renew(): void {
    if (monotonicMs() - this.#readAtMs < renewEveryMs) return;
    this.#readAtMs = monotonicMs();
    try {
      const next = this.#options.readCertificates();
      if (isSame(next, this.#certificates)) return;
      this.#certificates = next;
    } catch (error) {
      this.#options.onUnusable(error);
      return;
    }
    const previous = this.#pools;
    this.#pools = this.#open();
    previous.close().catch(this.#options.onUnusable);
  }

  #open(): Pools {
    return new Pools({ ...limits, tls: contextOf(this.#certificates) }, this.#options.proxies);
  }
}

/** Errors of a connection that was never opened. */
const unsentCodes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

function isUnsent(error: unknown): boolean {
  if (error instanceof errors.ConnectTimeoutError) return true;
  const code = String((error as NodeJS.ErrnoException).code);
  return unsentCodes.includes(code) || code.startsWith('ERR_TLS') || code.startsWith('CERT_');
}

function unreachable(origin: string, cause: unknown): DatabaseUnavailable {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new DatabaseUnavailable(`Cannot use the control plane at ${origin}: ${reason}`, { cause });
}
