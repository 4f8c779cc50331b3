/** Signs requests for AWS services (Signature Version 4). */
import type { AwsCredentials } from './aws-credentials.ts';

export interface SigningScope {
  readonly service: string;
  readonly region: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

interface SignedRequest {
  readonly method: string;
  readonly url: string;
  /** Headers that the signature covers besides those that it adds. */
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array | null;
}

/** Returns the headers with those of the signature. The path is encoded once more for the signature, as AWS does. */
export async function signedHeaders(
  { accessKeyId, secretAccessKey, sessionToken }: AwsCredentials,
  { service, region, now }: SigningScope,
  { method, url, headers, body }: SignedRequest,
): Promise<Record<string, string>> {
  const { AwsV4Signer } = await import('aws4fetch');
  const signer = new AwsV4Signer({
    method,
    url,
    headers,
    service,
    region,
    accessKeyId,
    secretAccessKey: secretAccessKey.reveal(),
    datetime: new Date(now).toISOString().replace(/[:-]|\.\d{3}/g, ''),
    ...(sessionToken === null ? {} : { sessionToken: sessionToken.reveal() }),
    ...(body === null ? {} : { body: body as NonNullable<RequestInit['body']> }),
  });
  const { headers: signed } = await signer.sign();
  // The HTTP client sets it from the URL.
  signed.delete('host');
  return Object.fromEntries(signed);
}
