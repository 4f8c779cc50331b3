/** Requests temporary credentials of a role from AWS STS, with a key or with a token of the pod. */
import {
  type AwsCredentials,
  type AwsTransport,
  AwsUnavailable,
  temporaryCredentials,
} from './aws-credentials.ts';
import { signedHeaders } from './signature.ts';

const version = '2011-06-15';
const sessionName = 'gatewright';
const headersOfForm = {
  accept: 'application/xml',
  'content-type': 'application/x-www-form-urlencoded',
};

interface AssumedRole {
  readonly roleArn: string;
  /** Null when the role requires none. */
  readonly externalId: string | null;
  readonly region: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** @throws AwsUnavailable */
export async function assumeRole(
  own: AwsCredentials,
  sts: URL,
  { roleArn, externalId, region, now }: AssumedRole,
  transport: AwsTransport,
): Promise<AwsCredentials> {
  const body = new URLSearchParams({
    Action: 'AssumeRole',
    Version: version,
    RoleArn: roleArn,
    RoleSessionName: sessionName,
    ...(externalId === null ? {} : { ExternalId: externalId }),
  }).toString();
  const url = new URL('/', sts);
  const request = { method: 'POST', url: url.href, headers: headersOfForm, body };
  const headers = await signedHeaders(own, { service: 'sts', region, now }, request);
  return credentialsIn(url, await transport({ url, method: 'POST', headers, body }));
}

interface WebIdentity {
  readonly roleArn: string;
  readonly token: string;
}

/** @throws AwsUnavailable */
export async function assumeRoleWithWebIdentity(
  sts: URL,
  { roleArn, token }: WebIdentity,
  transport: AwsTransport,
): Promise<AwsCredentials> {
  const body = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: version,
    RoleArn: roleArn,
    RoleSessionName: sessionName,
    WebIdentityToken: token,
  }).toString();
  return credentialsIn(
    sts,
    await transport({ url: sts, method: 'POST', headers: headersOfForm, body }),
  );
}

/** All compatible services respond with XML, only AWS with JSON too. */
function credentialsIn(sts: URL, { status, text }: { status: number; text: string }) {
  if (status !== 200) throw refusal(sts, status, text);
  const textOf = (name: string) => new RegExp(`<${name}>([^<]+)</${name}>`).exec(text)?.[1];
  const names = ['AccessKeyId', 'SecretAccessKey', 'SessionToken', 'Expiration'];
  return temporaryCredentials(sts, names.map(textOf));
}

function refusal({ origin }: URL, status: number, text: string): AwsUnavailable {
  const [, code] = /<Code>(\w{1,64})<\/Code>/.exec(text) ?? [];
  const reason = code === undefined ? status : `${status}, ${code}`;
  const isSilent = status >= 500 || status === 429;
  return new AwsUnavailable(`${origin} returns no credentials (${reason})`, isSilent);
}
