/** Sends one HTTP request for a test and returns the parsed response. */
import { type Dispatcher, request as send } from 'undici';

export interface TestResponse {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  /** Parsed JSON; text when the response is not JSON. */
  readonly body: ReturnType<typeof JSON.parse>;
}

export async function exchange(
  method: string,
  url: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<TestResponse> {
  const raw = typeof body === 'string' || Buffer.isBuffer(body);
  const response = await send(url, {
    method: method as Dispatcher.HttpMethod,
    headers: {
      ...(raw || body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? null : raw ? body : JSON.stringify(body),
  });
  const text = await response.body.text();
  const isPlain = response.headers['content-encoding'] === undefined;
  const isJson = String(response.headers['content-type']).startsWith('application/json') && isPlain;
  return {
    status: response.statusCode,
    headers: response.headers,
    body: isJson && text !== '' ? JSON.parse(text) : text,
  };
}
