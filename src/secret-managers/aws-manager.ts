/** Reads values from AWS Secrets Manager with requests signed by a key, the machine's role or an assumed role. */
import { AwsV4Signer } from 'aws4fetch';
import { z } from 'zod';
import type { AuthConfig } from '../model/secrets/secret-manager.ts';
import type { JsonExchange } from '../remote/json-exchange.ts';
import type { Secret } from '../secret.ts';
import { cloudService, secretRefusal, wrapErrors } from './cloud-service.ts';
import { type ManagedSecret, SecretUnreadable } from './managed-secret.ts';
import { type ManagerContext, requireOwnIdentity, type SecretManager } from './manager.ts';

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  /** Milliseconds since the epoch; null for credentials that do not expire. */
  readonly expiresAt: number | null;
}

/** Credentials are replaced this long before they expire. */
const marginMs = 5 * 60_000;
const defaultRegion = 'us-east-1';

export function awsManager(auth: Secret<AuthConfig>, context: ManagerContext): SecretManager {
  const { aws_region, aws_endpoint_url, aws_sts_endpoint_url } = auth.reveal();
  const region = aws_region ?? defaultRegion;
  const address = new URL(
    aws_endpoint_url ?? `https://secretsmanager.${region}.${domainOf(region)}`,
  );
  const service = cloudService(address, 'AWS Secrets Manager', context);
  const stsAddress = new URL(aws_sts_endpoint_url ?? `https://sts.${region}.${domainOf(region)}`);
  const sts = cloudService(stsAddress, 'AWS STS', context);
  const credentials = cachedUntilExpiry(context, () =>
    credentialsOf(auth.reveal(), { context, service: sts, stsAddress, region }),
  );
  return {
    read: (path) =>
      wrapErrors(async () => {
        const signer = { ...(await credentials()), service: 'secretsmanager', region };
        return readValue(service, address, path, signer);
      }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([service[Symbol.asyncDispose](), sts[Symbol.asyncDispose]()]);
    },
  };
}

function domainOf(region: string): string {
  return region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
}

type Signing = Omit<Credentials, 'expiresAt'> & {
  readonly service: string;
  readonly region: string;
};

const Value = z.object({
  SecretString: z.string().optional(),
  SecretBinary: z.string().optional(),
});

async function readValue(
  service: JsonExchange,
  address: URL,
  path: string,
  signing: Signing,
): Promise<ManagedSecret> {
  const body = { SecretId: path };
  const headers = await signedHeaders(signing, {
    method: 'POST',
    url: address.href,
    headers: {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': 'secretsmanager.GetSecretValue',
    },
    body: JSON.stringify(body),
  });
  const response = await service.send({ method: 'POST', path: '/', headers: () => headers, body });
  const { __type: code } = (response.body ?? {}) as { readonly __type?: unknown };
  const value = Value.safeParse(response.body);
  if (response.status !== 200 || !value.success) {
    throw secretRefusal('AWS Secrets Manager does not give the secret', response, code);
  }
  const { SecretString: text, SecretBinary: bytes } = value.data;
  return text ?? Buffer.from(bytes ?? '', 'base64').toString('utf8');
}

interface Signable {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

/** Returns the headers with the signature. */
async function signedHeaders(
  { service, region, ...credentials }: Signing,
  { method, url, headers, body }: Signable,
): Promise<Record<string, string>> {
  const signer = new AwsV4Signer({
    method,
    url,
    headers,
    service,
    region,
    ...credentials,
    ...(body === undefined ? {} : { body }),
  });
  const { headers: all } = await signer.sign();
  // undici sets it from the URL.
  all.delete('host');
  return Object.fromEntries(all);
}

/** Concurrent callers share one request. */
function cachedUntilExpiry(
  { clock }: ManagerContext,
  fetchCredentials: () => Promise<Credentials>,
): () => Promise<Credentials> {
  let cached: Credentials | null = null;
  let pending: Promise<Credentials> | null = null;
  return async () => {
    const isValid = cached !== null && (cached.expiresAt ?? Infinity) - marginMs > clock.now();
    if (isValid) return cached!;
    pending ??= fetchCredentials().finally(() => {
      pending = null;
    });
    cached = await pending;
    return cached;
  };
}

interface StsContext {
  readonly context: ManagerContext;
  readonly service: JsonExchange;
  readonly stsAddress: URL;
  readonly region: string;
}

async function credentialsOf(auth: AuthConfig, sts: StsContext): Promise<Credentials> {
  if (auth.aws_auth_type === 'accessKey') {
    return {
      accessKeyId: auth.aws_access_key_id!,
      secretAccessKey: auth.aws_secret_access_key!,
      expiresAt: null,
    };
  }
  requireOwnIdentity(sts.context, auth.aws_auth_type!);
  const own = await ownRole(sts.context);
  return auth.aws_auth_type === 'assumedRole' ? assumeRole(auth, own, sts) : own;
}

const OwnRole = z.object({
  AccessKeyId: z.string(),
  SecretAccessKey: z.string(),
  Token: z.string(),
  Expiration: z.iso.datetime(),
});

async function ownRole({ machine }: ManagerContext): Promise<Credentials> {
  const role = OwnRole.safeParse(await machine.awsRole());
  if (!role.success) throw new SecretUnreadable('the machine has no role at AWS', false);
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = role.data;
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: Token,
    expiresAt: Date.parse(Expiration),
  };
}

/** JSON response of STS; the expiration is in seconds. */
const AssumeRoleResponse = z.object({
  AssumeRoleResponse: z.object({
    AssumeRoleResult: z.object({
      Credentials: z.object({
        AccessKeyId: z.string(),
        SecretAccessKey: z.string(),
        SessionToken: z.string(),
        Expiration: z.number(),
      }),
    }),
  }),
});

async function assumeRole(
  { aws_role_arn: role, aws_external_id: externalId }: AuthConfig,
  own: Credentials,
  { service, stsAddress, region }: StsContext,
): Promise<Credentials> {
  const query = {
    Action: 'AssumeRole',
    Version: '2011-06-15',
    RoleArn: role!,
    RoleSessionName: 'gatewright',
    ...(externalId === undefined || externalId === null ? {} : { ExternalId: externalId }),
  };
  const url = new URL('/', stsAddress);
  url.search = new URLSearchParams(query).toString();
  const { expiresAt: _, ...ownKey } = own;
  const signing = { ...ownKey, service: 'sts', region };
  const headers = await signedHeaders(signing, { method: 'GET', url: url.href, headers: {} });
  const response = await service.send({ method: 'GET', path: '/', query, headers: () => headers });
  const assumed = AssumeRoleResponse.safeParse(response.body);
  if (response.status !== 200 || !assumed.success) {
    const { Error: error } = (response.body ?? {}) as {
      readonly Error?: { readonly Code?: unknown };
    };
    throw secretRefusal('AWS STS does not let the role be assumed', response, error?.Code);
  }
  const credentials = assumed.data.AssumeRoleResponse.AssumeRoleResult.Credentials;
  return {
    accessKeyId: credentials.AccessKeyId,
    secretAccessKey: credentials.SecretAccessKey,
    sessionToken: credentials.SessionToken,
    expiresAt: credentials.Expiration * 1000,
  };
}
