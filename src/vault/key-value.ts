/** Reads and writes secrets of a key-value engine of version 2; a write succeeds only over the version that was read. */
import type { VaultClient } from './vault-client.ts';
import { errorsIn, vaultRefusal } from './vault-exchange.ts';

/** Location of a secret; both parts without a slash at either end. */
export interface SecretPath {
  readonly mount: string;
  readonly path: string;
}

export interface VaultSecret {
  /** 0 when the secret has no version yet. */
  readonly version: number;
  /** Empty when the newest version was deleted. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly customMetadata: Readonly<Record<string, string>>;
}

type VaultRequester = Pick<VaultClient, 'request'>;

/** Null when the secret does not exist. @throws Failure when it cannot be read */
export async function readSecret(
  client: VaultRequester,
  at: SecretPath,
): Promise<VaultSecret | null> {
  const response = await client.request({ method: 'GET', path: pathOf('data', at) });
  if (response.status === 200 || response.status === 404) {
    const { data } = (response.body ?? {}) as { readonly data?: ReadResponse };
    if (data?.metadata !== undefined) {
      return {
        version: data.metadata.version,
        data: data.data ?? {},
        customMetadata: data.metadata.custom_metadata ?? {},
      };
    }
    if (response.status === 404 && errorsIn(response.body).length === 0) return null;
  }
  throw vaultRefusal(response, `read ${textOf(at)}`);
}

interface ReadResponse {
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly metadata?: {
    readonly version: number;
    readonly custom_metadata?: Readonly<Record<string, string>> | null;
  };
}

/** Returns the custom metadata of a secret, which may have no version yet; {} when there is none. */
export async function readCustomMetadata(
  client: VaultRequester,
  at: SecretPath,
): Promise<VaultSecret['customMetadata']> {
  const response = await client.request({ method: 'GET', path: pathOf('metadata', at) });
  if (response.status === 404) return {};
  if (response.status !== 200) throw vaultRefusal(response, `read the metadata of ${textOf(at)}`);
  const { data } = response.body as { readonly data: MetadataResponse };
  return data.custom_metadata ?? {};
}

interface MetadataResponse {
  readonly custom_metadata?: Readonly<Record<string, string>> | null;
  readonly versions?: Readonly<Record<string, { readonly destroyed?: boolean }>>;
}

export async function writeCustomMetadata(
  client: VaultRequester,
  at: SecretPath,
  customMetadata: VaultSecret['customMetadata'],
): Promise<void> {
  const body = { custom_metadata: customMetadata };
  const response = await client.request({ method: 'POST', path: pathOf('metadata', at), body });
  if (response.status >= 300) throw vaultRefusal(response, `write the metadata of ${textOf(at)}`);
}

/**
 * Writes the next version.
 *
 * @param over the version that was read; 0 when there was none
 * @returns false when another version was written meanwhile
 */
export async function writeSecret(
  client: VaultRequester,
  at: SecretPath,
  data: VaultSecret['data'],
  over: number,
): Promise<boolean> {
  const body = { options: { cas: over }, data };
  const response = await client.request({ method: 'POST', path: pathOf('data', at), body });
  if (response.status < 300) return true;
  const isConflict = errorsIn(response.body).some((message) =>
    message.startsWith('check-and-set parameter'),
  );
  if (response.status === 400 && isConflict) return false;
  throw vaultRefusal(response, `write ${textOf(at)}`);
}

/** Lists the names in a folder; names of subfolders end with a slash. */
export async function listSecretNames(client: VaultRequester, at: SecretPath): Promise<string[]> {
  const query = { list: 'true' };
  const response = await client.request({ method: 'GET', path: pathOf('metadata', at), query });
  if (response.status === 404) return [];
  if (response.status !== 200) throw vaultRefusal(response, `list ${textOf(at)}`);
  const { data } = response.body as { readonly data: { readonly keys: readonly string[] } };
  return [...data.keys];
}

/** Deletes the secret with all versions. */
export async function removeSecret(client: VaultRequester, at: SecretPath): Promise<void> {
  const response = await client.request({ method: 'DELETE', path: pathOf('metadata', at) });
  if (response.status >= 300 && response.status !== 404)
    throw vaultRefusal(response, `remove ${textOf(at)}`);
}

/** Destroys the data of all versions before this one. */
export async function destroyBefore(
  client: VaultRequester,
  at: SecretPath,
  version: number,
): Promise<void> {
  const response = await client.request({ method: 'GET', path: pathOf('metadata', at) });
  if (response.status !== 200) throw vaultRefusal(response, `read the metadata of ${textOf(at)}`);
  const { data } = response.body as { readonly data: MetadataResponse };
  const versions = Object.entries(data.versions ?? {})
    .filter(([number, { destroyed }]) => Number(number) < version && destroyed !== true)
    .map(([number]) => Number(number));
  if (versions.length === 0) return;
  const body = { versions };
  const done = await client.request({ method: 'POST', path: pathOf('destroy', at), body });
  if (done.status >= 300) throw vaultRefusal(done, `destroy earlier versions of ${textOf(at)}`);
}

function pathOf(kind: 'data' | 'metadata' | 'destroy', { mount, path }: SecretPath): string {
  return [mount, kind, ...path.split('/')].map(encodeURIComponent).join('/');
}

function textOf({ mount, path }: SecretPath): string {
  return `${mount}/${path}`;
}
