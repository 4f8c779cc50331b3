/** Defines credentials of AWS, how they are requested, and why they are not available. */
import { Secret } from '../secret.ts';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  /** Null for a key that does not expire. */
  readonly sessionToken: Secret | null;
  /** Milliseconds since the epoch; null for credentials that do not expire. */
  readonly expiresAt: number | null;
}

/** The message quotes no credential, but may contain addresses. */
export class AwsUnavailable extends Error {
  override name = 'AwsUnavailable';
  /** Whether the service did not respond, so that a later request may succeed. */
  readonly isSilent: boolean;

  constructor(message: string, isSilent: boolean, options?: ErrorOptions) {
    super(message, options);
    this.isSilent = isSilent;
  }
}

interface AwsRequest {
  readonly url: URL;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly headers: Record<string, string>;
  readonly body: string | null;
}

interface AwsResponse {
  readonly status: number;
  readonly text: string;
}

/**
 * Sends a request for credentials. Rooms pass their own, because each has its own rules for addresses and proxies.
 *
 * @throws AwsUnavailable
 */
export type AwsTransport = (request: AwsRequest) => Promise<AwsResponse>;

/** Domain of the services in a region. */
export function awsDomain(region: string): string {
  return region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
}

/**
 * Builds credentials from the members of a response.
 *
 * @throws AwsUnavailable when a member is missing
 */
export function temporaryCredentials(
  { origin }: URL,
  [accessKeyId, secretAccessKey, sessionToken, expiration]: readonly unknown[],
): AwsCredentials {
  const expiresAt = Date.parse(String(expiration));
  const isWhole = [accessKeyId, secretAccessKey, sessionToken].every(
    (value) => typeof value === 'string' && value !== '',
  );
  if (!isWhole || Number.isNaN(expiresAt)) {
    throw new AwsUnavailable(`${origin} returns no credentials: a field is missing`, false);
  }
  return {
    accessKeyId: accessKeyId as string,
    secretAccessKey: new Secret(secretAccessKey as string, origin),
    sessionToken: new Secret(sessionToken as string, origin),
    expiresAt,
  };
}
