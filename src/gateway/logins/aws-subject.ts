/** Proves the gateway's identity at AWS to Google: a signed request to STS that Google sends itself. */
import { type AwsCredentials, AwsUnavailable } from '../../aws/aws-credentials.ts';
import { signedHeaders } from '../../aws/signature.ts';
import type { AwsSubjectSource } from './cloud-login.ts';
import type { GrantedToken } from './granted-token.ts';

/** Returns the credentials of the gateway itself in a region. */
export type OwnAwsCredentials = (region: string) => Promise<AwsCredentials>;

/** Binds the request to the pool of identities at Google, so that it proves nothing elsewhere. */
const targetHeader = 'x-goog-cloud-target-resource';

/** `now` in milliseconds since the epoch. */
export async function awsSubject(
  { region, verificationUrl: url }: AwsSubjectSource,
  audience: string,
  credentialsOf: OwnAwsCredentials | null,
  now: number,
): Promise<GrantedToken> {
  if (credentialsOf === null) return { fault: 'its credential_source needs an identity at AWS' };
  let credentials: AwsCredentials;
  try {
    credentials = await credentialsOf(region);
  } catch (error) {
    if (!(error instanceof AwsUnavailable)) throw error;
    return { fault: `its credential_source: ${error.message}` };
  }
  const headers = await signedHeaders(
    credentials,
    { service: 'sts', region, now },
    { method: 'POST', url, headers: { [targetHeader]: audience }, body: null },
  );
  const listed = { host: new URL(url).host, ...headers };
  const request = {
    url,
    method: 'POST',
    headers: Object.entries(listed).map(([key, value]) => ({ key, value })),
  };
  return { token: encodeURIComponent(JSON.stringify(request)), lifeMs: null };
}
