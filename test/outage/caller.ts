/** Sends single requests to a gateway of a deployment. */
import { makeApiKey } from '../../src/model/people/credentials.ts';
import { exchange, type TestResponse } from '../support/network/exchange.ts';

interface ChatOptions {
  /** Slug of the config. */
  readonly config: string;
  readonly content?: string;
}

/** Requests a chat completion. */
export function chatAt(
  { url }: { readonly url: string },
  key: string,
  { config, content = 'hello' }: ChatOptions,
): Promise<TestResponse> {
  const body = { model: 'm', max_tokens: 20, messages: [{ role: 'user', content }] };
  const headers = { authorization: `Bearer ${key}`, 'x-gateway-config': config };
  return exchange('POST', `${url}/v1/chat/completions`, body, headers);
}

const hourMs = 3_600_000;

/** Values of keys that no deployment has: one that any snapshot would contain, and one that may be new. */
export const unknownKeys = () => ({
  old: makeApiKey('', Date.now() - hourMs),
  recent: makeApiKey('', Date.now()),
});
