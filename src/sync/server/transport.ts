/** Sends one HTTP request to a server and returns its response or its failure. */
import { type Dispatcher, errors } from 'undici';
import { Pools } from '../../remote/pools.ts';
import type { Proxies } from '../../remote/proxies.ts';
import {
  acceptEncoding,
  answerBytesMax,
  type CodedBody,
  decodeBody,
  isCoding,
} from './coded-body.ts';

/** The response of a server; `body` is null when it is empty or not JSON. */
export interface ServerResponse {
  readonly status: number;
  readonly body: unknown;
  readonly etag: string | null;
  readonly retryAfter: string | null;
  /** The body in its encoding, when it was compressed. */
  readonly coded: CodedBody | null;
}

export type RequestOutcome =
  | ServerResponse
  | { readonly failed: unknown; readonly neverSent: boolean };

/** Maximum concurrent requests to one origin. */
export const connectionsMax = 16;
const connectTimeoutMs = 5_000;
const answerTimeoutMs = 30_000;

/** One connection pool for each origin; disposal closes them. */
export class Transport implements AsyncDisposable {
  readonly #pools: Pools;
  #requests = 0;

  constructor(proxies: Proxies | null) {
    const limits = {
      connectionsMax,
      connectTimeoutMs,
      responseTimeoutMs: answerTimeoutMs,
      responseBytesMax: answerBytesMax,
    };
    this.#pools = new Pools(limits, proxies);
  }

  /** Number of HTTP requests since the start. */
  get requests(): number {
    return this.#requests;
  }

  async send(
    url: URL,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    headers: Record<string, string>,
    body: string | null,
  ): Promise<RequestOutcome> {
    this.#requests += 1;
    try {
      const answer = await this.#pools.poolFor(url.origin).request({
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        headers: {
          accept: 'application/json',
          'accept-encoding': acceptEncoding,
          ...headers,
        },
        body,
      });
      const { text, coded } = await bodyOf(answer);
      return {
        status: answer.statusCode,
        body: parsed(text),
        coded,
        etag: single(answer.headers.etag),
        retryAfter: single(answer.headers['retry-after']),
      };
    } catch (error) {
      const way = this.#pools.describeRoute(url.origin);
      const failed =
        way === '' ? error : new Error(`${describeFailed(error)}${way}`, { cause: error });
      return { failed, neverSent: isNeverSent(error) };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pools.close();
  }
}

/** Describes why there was no response, in words that continue "it failed,". */
export function describeFailed(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | null)?.code ?? '';
  if (code === 'ECONNREFUSED') return 'nothing listens there (connection refused)';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'its name cannot be resolved';
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError) {
    return `it did not respond within ${answerTimeoutMs / 1000} s`;
  }
  return error instanceof Error ? error.message || code : String(error);
}

/** Returns whether nothing of the request can have arrived. */
function isNeverSent(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | null)?.code ?? '';
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'].includes(code);
}

async function bodyOf(
  answer: Dispatcher.ResponseData,
): Promise<{ text: string; coded: CodedBody | null }> {
  const coding = single(answer.headers['content-encoding']);
  if (coding === null) return { text: await answer.body.text(), coded: null };
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  if (!isCoding(coding))
    throw new TypeError(
      `it responded with the content encoding ${coding}, which was not requested`,
    );
  const coded = { coding, bytes };
  return { text: bytes.length === 0 ? '' : await decodeBody(coded), coded };
}

function parsed(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

function single(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null;
}
