/** Knows how values are read from AWS Secrets Manager: requests signed with a key, or as a role that was assumed. */
import { AwsV4Signer } from 'aws4fetch';
import { z } from 'zod';
import type { AuthConfig } from '../model/secrets/secret-manager.ts';
import type { JsonExchange } from '../remote/json-exchange.ts';
import type { Secret } from '../secret.ts';
import { cloudService, refusal, telling } from './cloud-service.ts';
import { type ManagedSecret, SecretUnreadable } from './kept-secret.ts';
import { type ManagerContext, requireOwnIdentity, type SecretManager } from './manager.ts';

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  /** Milliseconds since the epoch; null for those that do not end. */
  readonly endsAt: number | null;
}

/** Credentials are replaced so long before their end. */
const marginMs = 5 * 60_000;
const regionUsual = 'us-east-1';

export function awsManager(auth: Secret<AuthConfig>, means: ManagerContext): SecretManager {
  const { aws_region, aws_endpoint_url, aws_sts_endpoint_url } = auth.reveal();
  const region = aws_region ?? regionUsual;
  const address = new URL(
    aws_endpoint_url ?? `https://secretsmanager.${region}.${domainOf(region)}`,
  );
  const service = cloudService(address, 'AWS Secrets Manager', means);
  const stsAddress = new URL(aws_sts_endpoint_url ?? `https://sts.${region}.${domainOf(region)}`);
  const sts = cloudService(stsAddress, 'AWS STS', means);
  const credentials = keptUntilTheirEnd(means, () =>
    credentialsOf(auth.reveal(), { means, sts, stsAddress, region }),
  );
  return {
    read: (path) =>
      telling(async () => {
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

type Signing = Omit<Credentials, 'endsAt'> & { readonly service: string; readonly region: string };

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
  const headers = await signed(signing, {
    method: 'POST',
    url: address.href,
    headers: {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': 'secretsmanager.GetSecretValue',
    },
    body: JSON.stringify(body),
  });
  const answer = await service.send({ method: 'POST', path: '/', headers: () => headers, body });
  const { __type: code } = (answer.body ?? {}) as { readonly __type?: unknown };
  const value = Value.safeParse(answer.body);
  if (answer.status !== 200 || !value.success) {
    throw refusal('AWS Secrets Manager does not give the secret', answer, code);
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

/** The headers with the signature among them. */
async function signed(
  { service, region, ...credentials }: Signing,
  { method, url, headers, body }: Signable,
): Promise<Record<string, string>> {
  const signer = new AwsV4Signer({
    ...{ method, url, headers, service, region, ...credentials },
    ...(body === undefined ? {} : { body }),
  });
  const { headers: all } = await signer.sign();
  // The address says it.
  all.delete('host');
  return Object.fromEntries(all);
}

/** Asked for once by all who come at once. */
function keptUntilTheirEnd(
  { clock }: ManagerContext,
  ask: () => Promise<Credentials>,
): () => Promise<Credentials> {
  let known: Credentials | null = null;
  let asking: Promise<Credentials> | null = null;
  return async () => {
    const isGood = known !== null && (known.endsAt ?? Infinity) - marginMs > clock.now();
    if (isGood) return known!;
    asking ??= ask().finally(() => {
      asking = null;
    });
    known = await asking;
    return known;
  };
}

interface Asking {
  readonly means: ManagerContext;
  readonly sts: JsonExchange;
  readonly stsAddress: URL;
  readonly region: string;
}

async function credentialsOf(auth: AuthConfig, asking: Asking): Promise<Credentials> {
  if (auth.aws_auth_type === 'accessKey') {
    return {
      accessKeyId: auth.aws_access_key_id!,
      secretAccessKey: auth.aws_secret_access_key!,
      endsAt: null,
    };
  }
  requireOwnIdentity(asking.means, auth.aws_auth_type!);
  const own = await ownRole(asking.means);
  return auth.aws_auth_type === 'assumedRole' ? assumeRole(auth, own, asking) : own;
}

const OwnRole = z.object({
  AccessKeyId: z.string(),
  SecretAccessKey: z.string(),
  Token: z.string(),
  Expiration: z.iso.datetime(),
});

async function ownRole({ machine }: ManagerContext): Promise<Credentials> {
  const told = OwnRole.safeParse(await machine.awsRole());
  if (!told.success) throw new SecretUnreadable('the machine has no role at AWS', false);
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = told.data;
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: Token,
    endsAt: Date.parse(Expiration),
  };
}

/** As STS says it where JSON is asked for; the end in seconds. */
const Assumed = z.object({
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
  { sts, stsAddress, region }: Asking,
): Promise<Credentials> {
  const query = {
    ...{ Action: 'AssumeRole', Version: '2011-06-15', RoleArn: role! },
    RoleSessionName: 'gatewright',
    ...(externalId === undefined || externalId === null ? {} : { ExternalId: externalId }),
  };
  const url = new URL('/', stsAddress);
  url.search = new URLSearchParams(query).toString();
  const { endsAt: _, ...credentials } = own;
  const signing = { ...credentials, service: 'sts', region };
  const headers = await signed(signing, { method: 'GET', url: url.href, headers: {} });
  const answer = await sts.send({ method: 'GET', path: '/', query, headers: () => headers });
  const assumed = Assumed.safeParse(answer.body);
  if (answer.status !== 200 || !assumed.success) {
    const { Error: error } = (answer.body ?? {}) as {
      readonly Error?: { readonly Code?: unknown };
    };
    throw refusal('AWS STS does not let the role be assumed', answer, error?.Code);
  }
  const told = assumed.data.AssumeRoleResponse.AssumeRoleResult.Credentials;
  return {
    accessKeyId: told.AccessKeyId,
    secretAccessKey: told.SecretAccessKey,
    sessionToken: told.SessionToken,
    endsAt: told.Expiration * 1000,
  };
}
