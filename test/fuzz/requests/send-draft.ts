/** Sends one generated request over HTTP, and reads at most the beginning of a stream that stays open. */
import { Agent, request } from 'node:http';

export interface SentAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface SendableRequest {
  readonly method: string;
  /** The base address of the listener. */
  readonly url: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

/** A stream that is still open after this time is closed. */
const streamMs = 500;
/** Only ends a request that would never be answered; machines may be slow. */
const hangMs = 120_000;

export class RequestSender implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 });

  /**
   * Rejects when the connection ends before the response is complete. A server may close an idle connection at the
   * moment at which it is used again, which says nothing about the request: it is sent again on another one.
   */
  send(draft: SendableRequest): Promise<SentAnswer> {
    const { method, url, target, headers, body } = draft;
    const { hostname, port } = new URL(url);
    const { promise, resolve, reject } = Promise.withResolvers<SentAnswer>();
    const sent = request(
      {
        agent: this.#agent,
        host: hostname,
        port,
        method,
        path: target,
        headers: framedHeaders(headers, body),
      },
      (response) => {
        let text = '';
        const settle = () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        const isStream = `${response.headers['content-type']}`.startsWith('text/event-stream');
        const timer = setTimeout(
          () => {
            if (isStream) settle();
            sent.destroy(new Error('the response never ended'));
          },
          isStream ? streamMs : hangMs,
        );
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', settle);
        response.on('error', reject);
        response.on('close', () => clearTimeout(timer));
      },
    );
    sent.setTimeout(hangMs, () => sent.destroy(new Error('no answer')));
    sent.on('error', (error: NodeJS.ErrnoException) => {
      if (sent.reusedSocket && error.code === 'ECONNRESET') resolve(this.send(draft));
      else reject(error);
    });
    // A switched protocol is no answer that this client reads.
    sent.on('upgrade', (response, socket) => {
      socket.destroy();
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text: '' });
    });
    sent.end(body);
    return promise;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

/** Node sends the body of a GET without its length, so that the server would take it for the next request. */
function framedHeaders(
  headers: SendableRequest['headers'],
  body: Buffer | undefined,
): Record<string, string> {
  const isFramed = Object.keys(headers).some((name) =>
    /^(?:content-length|transfer-encoding)$/i.test(name),
  );
  if (body === undefined || isFramed) return { ...headers };
  return { ...headers, 'content-length': String(body.length) };
}

/** The request as a command line that repeats it. */
export function curlOf({ method, url, target, headers, body }: SendableRequest): string {
  const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const isText = body === undefined || Buffer.from(body.toString()).equals(body);
  const data = body === undefined ? '' : isText ? body.toString() : body.toString('base64');
  const words = [
    ...(isText ? [] : [`echo ${data} | base64 -d |`]),
    `curl -i --path-as-is -g -X ${method} ${quoted(url + target)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`--data-binary ${isText ? quoted(data) : '@-'}`]),
  ];
  return words.join(' ');
}
