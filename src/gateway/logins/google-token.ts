/** Obtains access tokens of Google Cloud: by a signed assertion, by exchange, or from the metadata server. */
import { readFile } from 'node:fs/promises';
import { importPKCS8, SignJWT } from 'jose';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { awsSubject, type OwnAwsCredentials } from './aws-subject.ts';
import type { GoogleKeyLogin, GoogleWorkloadLogin, SubjectSource } from './cloud-login.ts';
import {
  exchangeJson,
  type GrantedToken,
  isHeaderText,
  requestOAuthToken,
  type TokenServer,
} from './granted-token.ts';

const scope = 'https://www.googleapis.com/auth/cloud-platform';
const assertionSeconds = 3600;
const assertionGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';
const subjectBytesMax = 64 * 1024;

/** Domain of the services that receive the token of a workload. */
const googleDomain = '.googleapis.com';

/** `now` in milliseconds since the epoch. */
export async function tokenByKey(
  { endpoint, email, privateKey, keyId }: GoogleKeyLogin,
  server: TokenServer,
  now: number,
): Promise<GrantedToken> {
  const seconds = Math.floor(now / 1000);
  let assertion: string;
  try {
    const key = await importPKCS8(privateKey, 'RS256');
    assertion = await new SignJWT({ scope })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(keyId !== '' && { kid: keyId }) })
      .setIssuer(email)
      .setSubject(email)
      .setAudience(endpoint)
      .setIssuedAt(seconds)
      .setExpirationTime(seconds + assertionSeconds)
      .sign(key);
  } catch {
    return { fault: 'private_key of its service account is not an RSA key in PEM (PKCS 8)' };
  }
  const form = { grant_type: assertionGrant, assertion };
  return requestOAuthToken(server, { url: endpoint, form });
}

interface ExchangeTerms {
  readonly trusted: TrustedHosts;
  /** Null where the gateway has no identity at AWS. */
  readonly awsCredentials: OwnAwsCredentials | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Exchanges the token of a workload, only with Google or a host that the operator trusts. */
export async function tokenByExchange(
  login: GoogleWorkloadLogin,
  server: TokenServer,
  { trusted, awsCredentials, now }: ExchangeTerms,
): Promise<GrantedToken> {
  const { endpoint, audience, subjectType, source, impersonationUrl } = login;
  const foreign = [endpoint, impersonationUrl].find(
    (url) => url !== '' && !isOfGoogle(url, trusted),
  );
  if (foreign !== undefined) {
    return { fault: 'it is no host of Google, and TRUSTED_CUSTOM_HOSTS does not list it' };
  }
  const subject =
    'verificationUrl' in source
      ? await awsSubject(source, audience, awsCredentials, now)
      : await subjectToken(source, server);
  if ('fault' in subject) return subject;
  const granted = await requestOAuthToken(server, {
    url: endpoint,
    form: {
      grant_type: exchangeGrant,
      audience,
      scope,
      requested_token_type: accessTokenType,
      subject_token_type: subjectType,
      subject_token: subject.token,
    },
  });
  if ('fault' in granted || impersonationUrl === '') return granted;
  return impersonated(impersonationUrl, granted.token, server);
}

async function impersonated(
  url: string,
  token: string,
  server: TokenServer,
): Promise<GrantedToken> {
  const response = await exchangeJson(server, {
    url,
    headers: { authorization: `Bearer ${token}` },
    json: { scope: [scope], lifetime: `${assertionSeconds}s` },
  });
  if ('fault' in response) return { fault: `its service account: ${response.fault}` };
  const { accessToken } = response.body;
  if (typeof accessToken !== 'string' || !isHeaderText(accessToken)) {
    return { fault: 'its service account: the response contains no token' };
  }
  return { token: accessToken, lifeMs: assertionSeconds * 1000 };
}

async function subjectToken(source: SubjectSource, server: TokenServer): Promise<GrantedToken> {
  const { file, url, headers, member } = source;
  if (url !== '' && member !== '') {
    const response = await exchangeJson(server, { url, method: 'GET', headers });
    if ('fault' in response) return { fault: `its credential_source: ${response.fault}` };
    return subjectIn(response.body[member]);
  }
  let text: string;
  try {
    text =
      file === ''
        ? (
            await server.request({ url, method: 'GET', headers, body: null, timeoutMs: 10_000 })
          ).body.toString('utf8')
        : await readFile(file, 'utf8');
  } catch {
    return { fault: 'its credential_source cannot be read' };
  }
  if (member === '') return subjectIn(text.trim());
  try {
    return subjectIn((JSON.parse(text) as Readonly<Record<string, unknown>>)[member]);
  } catch {
    return { fault: 'its credential_source is not JSON' };
  }
}

function subjectIn(value: unknown): GrantedToken {
  const isToken = typeof value === 'string' && value !== '' && value.length <= subjectBytesMax;
  return isToken
    ? { token: value, lifeMs: null }
    : { fault: 'its credential_source contains no token' };
}

function isOfGoogle(text: string, trusted: TrustedHosts): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  if (protocol === 'https:' && hostname.endsWith(googleDomain)) return true;
  return trusted.some((entry) => entry.covers(hostname.replace(/^\[|\]$/g, '')));
}
