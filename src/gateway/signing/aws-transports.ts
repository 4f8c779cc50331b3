/** Sends requests for credentials of AWS: guarded ones to STS, and direct ones to the node of this process. */
import { request } from 'undici';
import { type AwsTransport, AwsUnavailable } from '../../aws/aws-credentials.ts';
import type { Outbound } from '../../upstream/outbound.ts';

const timeoutMs = 10_000;
const nodeTimeoutMs = 3_000;
const responseCharsMax = 64 * 1024;

/** Reaches no forbidden address. */
export function guardedTransport(outbound: Pick<Outbound, 'request'>): AwsTransport {
  return async ({ url, method, headers, body }) => {
    try {
      const response = await outbound.request({
        url: url.href,
        method,
        headers,
        body: body === null ? null : Buffer.from(body),
        timeoutMs,
      });
      return { status: response.status, text: response.body.toString('utf8') };
    } catch (cause) {
      throw new AwsUnavailable(`${url.origin}: ${(cause as Error).message}`, true, { cause });
    }
  };
}

/** Reaches the agent or the metadata service of the node, whose addresses are refused everywhere else. */
export const nodeTransport: AwsTransport = async ({ url, method, headers, body }) => {
  try {
    const response = await request(url, {
      method,
      headers,
      body,
      signal: AbortSignal.timeout(nodeTimeoutMs),
    });
    const text = await response.body.text();
    return { status: response.statusCode, text: text.slice(0, responseCharsMax) };
  } catch (cause) {
    throw new AwsUnavailable(`${url.origin} does not respond`, true, { cause });
  }
};
