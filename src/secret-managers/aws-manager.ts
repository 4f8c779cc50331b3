/** Reads values from AWS Secrets Manager with requests signed by a key, the machine's role or an assumed role. */
import { z } from 'zod';
import {
  type AwsCredentials,
  type AwsTransport,
  AwsUnavailable,
  awsDomain,
} from '../aws/aws-credentials.ts';
import { RenewedCredentials } from '../aws/renewed-credentials.ts';
import { signedHeaders } from '../aws/signature.ts';
import { assumeRole } from '../aws/sts.ts';
import type { AuthConfig } from '../model/secrets/secret-manager.ts';
import type { JsonExchange } from '../remote/json-exchange.ts';
import { Secret } from '../secret.ts';
import { cloudService, secretRefusal, wrapErrors } from './cloud-service.ts';
import type { ManagedSecret } from './managed-secret.ts';
import { type ManagerContext, requireOwnIdentity, type SecretManager } from './manager.ts';

const defaultRegion = 'us-east-1';

export function awsManager(auth: Secret<AuthConfig>, context: ManagerContext): SecretManager {
  const { aws_region, aws_endpoint_url, aws_sts_endpoint_url } = auth.reveal();
  const region = aws_region ?? defaultRegion;
  const address = new URL(
    aws_endpoint_url ?? `https://secretsmanager.${region}.${awsDomain(region)}`,
  );
  const service = cloudService(address, 'AWS Secrets Manager', context);
  const stsAddress = new URL(aws_sts_endpoint_url ?? `https://sts.${region}.${awsDomain(region)}`);
  const sts = cloudService(stsAddress, 'AWS STS', context);
  const now = () => context.clock.now();
  const credentials = new RenewedCredentials(
    () => credentialsOf(auth, { context, transport: transportOf(sts), stsAddress, region }),
    now,
  );
  return {
    read: (path) =>
      wrapErrors(async () => {
        const scope = { service: 'secretsmanager', region, now: now() };
        return readValue(service, address, path, (request) =>
          credentials.current().then((current) => signedHeaders(current, scope, request)),
        );
      }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([service[Symbol.asyncDispose](), sts[Symbol.asyncDispose]()]);
    },
  };
}

type Sign = (request: Parameters<typeof signedHeaders>[2]) => ReturnType<typeof signedHeaders>;

const Value = z.object({
  SecretString: z.string().optional(),
  SecretBinary: z.string().optional(),
});

async function readValue(
  service: JsonExchange,
  address: URL,
  path: string,
  sign: Sign,
): Promise<ManagedSecret> {
  const body = { SecretId: path };
  const headers = await sign({
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

interface StsContext {
  readonly context: ManagerContext;
  readonly transport: AwsTransport;
  readonly stsAddress: URL;
  readonly region: string;
}

async function credentialsOf(
  auth: Secret<AuthConfig>,
  { context, transport, stsAddress, region }: StsContext,
): Promise<AwsCredentials> {
  const { origin } = auth;
  const { aws_auth_type: type, ...fields } = auth.reveal();
  if (type === 'accessKey') {
    return {
      accessKeyId: fields.aws_access_key_id!,
      secretAccessKey: new Secret(fields.aws_secret_access_key!, origin),
      sessionToken: null,
      expiresAt: null,
    };
  }
  requireOwnIdentity(context, type!);
  const own = await context.machine.awsRole();
  if (type !== 'assumedRole') return own;
  const { aws_role_arn: roleArn, aws_external_id: externalId } = fields;
  const now = context.clock.now();
  const role = { roleArn: roleArn!, externalId: externalId ?? null, region, now };
  return assumeRole(own, stsAddress, role, transport);
}

function transportOf(service: JsonExchange): AwsTransport {
  return async ({ url, method, headers, body }) => {
    try {
      const { pathname: path } = url;
      return await service.send({ method, path, headers: () => headers, body: body ?? undefined });
    } catch (cause) {
      throw new AwsUnavailable((cause as Error).message, true, { cause });
    }
  };
}
