/** Reads the credentials that AWS provides to the pod or the machine of this process. */
import { readFile } from 'node:fs/promises';
import {
  type AwsCredentials,
  type AwsTransport,
  AwsUnavailable,
  temporaryCredentials,
} from './aws-credentials.ts';
import { assumeRoleWithWebIdentity } from './sts.ts';

/** Identity of the pod, from the settings that EKS adds to it. */
export type PodIdentity =
  /** A token of the pod, which STS exchanges for credentials of a role. */
  | {
      readonly kind: 'webIdentity';
      readonly sts: URL;
      readonly roleArn: string;
      /** Kubernetes renews its content. */
      readonly tokenFile: string;
    }
  /** An agent on the node of the pod. */
  | { readonly kind: 'container'; readonly address: URL; readonly tokenFile: string | null };

/** @throws AwsUnavailable */
export async function podCredentials(
  identity: PodIdentity,
  transport: AwsTransport,
): Promise<AwsCredentials> {
  if (identity.kind === 'webIdentity') {
    const { sts, roleArn, tokenFile } = identity;
    const token = await tokenIn('AWS_WEB_IDENTITY_TOKEN_FILE', tokenFile);
    return assumeRoleWithWebIdentity(sts, { roleArn, token }, transport);
  }
  const { address, tokenFile } = identity;
  const token =
    tokenFile === null ? null : await tokenIn('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE', tokenFile);
  const headers: Record<string, string> = token === null ? {} : { authorization: token };
  const request = { url: address, method: 'GET', headers, body: null } as const;
  return credentialsIn(address, await transport(request));
}

/**
 * Reads the credentials of the role of the machine, with version 2 of the metadata service.
 *
 * @throws AwsUnavailable
 */
export async function machineCredentials(
  metadata: URL,
  transport: AwsTransport,
): Promise<AwsCredentials> {
  const read = async (
    method: 'GET' | 'PUT',
    path: string,
    headers: Record<string, string>,
  ): Promise<string> => {
    const url = new URL(path, metadata);
    const { status, text } = await transport({ url, method, headers, body: null });
    if (status === 200) return text;
    const message = `the metadata service of the machine responds with ${status}`;
    throw new AwsUnavailable(message, status >= 500);
  };
  const seconds = { 'x-aws-ec2-metadata-token-ttl-seconds': '300' };
  const token = await read('PUT', '/latest/api/token', seconds);
  const headers = { 'x-aws-ec2-metadata-token': token };
  const roles = '/latest/meta-data/iam/security-credentials/';
  const [role = ''] = (await read('GET', roles, headers)).split('\n');
  const text = await read('GET', roles + encodeURIComponent(role.trim()), headers);
  return credentialsIn(metadata, { status: 200, text });
}

function credentialsIn(address: URL, { status, text }: { status: number; text: string }) {
  if (status !== 200) {
    const message = `${address.origin} returns no credentials (${status})`;
    throw new AwsUnavailable(message, status >= 500 || status === 429);
  }
  let fields: Readonly<Record<string, unknown>>;
  try {
    fields = Object(JSON.parse(text));
  } catch {
    const message = `${address.origin} returns no credentials: the response is not JSON`;
    throw new AwsUnavailable(message, false);
  }
  const names = ['AccessKeyId', 'SecretAccessKey', 'Token', 'Expiration'];
  return temporaryCredentials(
    address,
    names.map((name) => fields[name]),
  );
}

/** Read for each use, because Kubernetes replaces the token before it expires. */
async function tokenIn(setting: string, path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new AwsUnavailable(`${setting}: the file cannot be read (${code})`, true, { cause });
  }
}
