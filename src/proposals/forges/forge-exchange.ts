/** Exchanges JSON with the API of a Git host, and says what is wrong where it refuses. */
import type { z } from 'zod';
import type { Secret } from '../../secret.ts';
import { OutboundFailure, type OutboundResponse } from '../../upstream/outbound.ts';
import { ForgeRefusal } from './forge.ts';

/** Sends requests to configured addresses; see `Outbound`. */
export interface ForgeOutbound {
  request(request: {
    readonly url: string;
    readonly method: 'GET' | 'POST' | 'PUT';
    readonly headers: Record<string, string>;
    readonly body: Buffer | null;
    readonly timeoutMs: number;
    readonly answerBytesMax: number;
  }): Promise<Pick<OutboundResponse, 'status' | 'body'>>;
}

export interface ForgeTerms {
  readonly outbound: ForgeOutbound;
  /** URL prefix of the routes of the repository. */
  readonly repositoryUrl: string;
  readonly token: Secret;
}

interface ExchangeTerms extends ForgeTerms {
  /** `GitHub` */
  readonly product: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface ForgeRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Below the repository, with query; '' for the repository itself. */
  readonly path: string;
  readonly body?: object;
  /** The purpose in errors: `read the branch`. */
  readonly purpose: string;
  /** A status beside 2xx that says something to the caller. */
  readonly accepts?: number;
}

const timeoutMs = 15_000;
/** A file of one mebibyte in base64, with what surrounds it. */
const answerBytesMax = 4 * 1024 * 1024;
const hostTextMax = 200;

export class ForgeExchange {
  readonly name: string;
  readonly #terms: ExchangeTerms;

  constructor(terms: ExchangeTerms) {
    this.#terms = terms;
    this.name = `${terms.product} at ${new URL(terms.repositoryUrl).host}`;
  }

  /**
   * Sends a request whose response is of no interest.
   *
   * @throws ForgeRefusal for every status that is not accepted, and without a response
   */
  async send(request: ForgeRequest): Promise<void> {
    await this.#exchange(request);
  }

  /** Returns what the host has; null for the accepted status. @throws as `send` */
  async ask<T>(schema: z.ZodType<T>, request: ForgeRequest): Promise<T | null> {
    const { status, body } = await this.#exchange(request);
    if (status === request.accepts) return null;
    const read = schema.safeParse(body);
    if (read.success) return read.data;
    const message = `${this.name} sent an unknown response when asked to ${request.purpose}: check GATEWRIGHT_PROPOSALS_FORM and GATEWRIGHT_PROPOSALS_API_URL`;
    throw new ForgeRefusal('unreachable', message);
  }

  async #exchange({ method, path, body, purpose, accepts }: ForgeRequest) {
    const { outbound, repositoryUrl, headers } = this.#terms;
    const response = await outbound
      .request({
        url: `${repositoryUrl}${path}`,
        method,
        headers: {
          accept: 'application/json',
          'user-agent': 'gatewright',
          ...headers,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        body: body === undefined ? null : Buffer.from(JSON.stringify(body)),
        timeoutMs,
        answerBytesMax,
      })
      .catch((error: unknown) => {
        if (!(error instanceof OutboundFailure)) throw error;
        const message = `${this.name} could not be asked to ${purpose}: ${error.message}; check GATEWRIGHT_PROPOSALS_API_URL and TRUSTED_CUSTOM_HOSTS, and try again`;
        throw new ForgeRefusal('unreachable', message, { cause: error });
      });
    const { status } = response;
    const read = parsed(response.body);
    if ((status >= 200 && status < 300) || status === accepts) return { status, body: read };
    throw this.#refusal(status, purpose, read);
  }

  #refusal(status: number, purpose: string, body: unknown): ForgeRefusal {
    const isTemporary = status >= 500 || status === 429;
    const words = this.#hostText(body);
    const reason = words === '' ? '' : ` ("${words}")`;
    const message = `${this.name} responds with ${status}${reason} when asked to ${purpose}: ${fixFor(status)}`;
    return new ForgeRefusal(isTemporary ? 'unreachable' : 'refused', message);
  }

  /** The host's own words, on one line; '' when there are none or they repeat the token. */
  #hostText(body: unknown): string {
    const { message } = (body ?? {}) as { message?: unknown };
    if (typeof message !== 'string') return '';
    if (message.includes(this.#terms.token.reveal())) return '';
    return message.replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, hostTextMax);
  }
}

function fixFor(status: number): string {
  if (status === 401) return 'set GATEWRIGHT_PROPOSALS_TOKEN to a token that is valid';
  if (status === 403 || status === 404) {
    return 'check GATEWRIGHT_PROPOSALS_REPOSITORY, and give the token the right to write contents and pull requests there';
  }
  if (status >= 300 && status < 400) {
    return 'set GATEWRIGHT_PROPOSALS_API_URL to its final address, because redirects are not followed';
  }
  if (status >= 500 || status === 429) return 'try again later';
  return 'look at the rules for branches and pull requests of the repository';
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

/** Encodes a path or a branch for a URL, and keeps its slashes. */
export function inPath(text: string): string {
  return text.split('/').map(encodeURIComponent).join('/');
}

/** Encodes a text for the bodies of all products. */
export function inBase64(text: string): string {
  return Buffer.from(text).toString('base64');
}

export function fromBase64(text: string): string {
  return Buffer.from(text, 'base64').toString('utf8');
}
