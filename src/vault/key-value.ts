/** Knows secrets of a key-value engine of version 2: read with their version, written only over the version that was read. */
import type { VaultClient } from './vault-client.ts';
import { errorsIn, refusal } from './vault-exchange.ts';

/** Where a secret lies; both without a slash at either end. */
export interface SecretPath {
  readonly mount: string;
  readonly path: string;
}

export interface VaultSecret {
  /** 0 where it has no version yet. */
  readonly version: number;
  /** Empty where the newest version was deleted. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly customMetadata: Readonly<Record<string, string>>;
}

type Asks = Pick<VaultClient, 'request'>;

/** Null where there is nothing at all. @throws Failure when it cannot be told */
export async function readSecret(client: Asks, at: SecretPath): Promise<VaultSecret | null> {
  const answer = await client.request({ method: 'GET', path: pathOf('data', at) });
  if (answer.status === 200 || answer.status === 404) {
    const { data } = (answer.body ?? {}) as { readonly data?: ReadAnswer };
    if (data?.metadata !== undefined) {
      return {
        version: data.metadata.version,
        data: data.data ?? {},
        customMetadata: data.metadata.custom_metadata ?? {},
      };
    }
    if (answer.status === 404 && errorsIn(answer.body).length === 0) return null;
  }
  throw refusal(answer, `read ${textOf(at)}`);
}

interface ReadAnswer {
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly metadata?: {
    readonly version: number;
    readonly custom_metadata?: Readonly<Record<string, string>> | null;
  };
}

/** What is written about a secret that may have no version yet; {} where there is nothing. */
export async function readCustomMetadata(
  client: Asks,
  at: SecretPath,
): Promise<VaultSecret['customMetadata']> {
  const answer = await client.request({ method: 'GET', path: pathOf('metadata', at) });
  if (answer.status === 404) return {};
  if (answer.status !== 200) throw refusal(answer, `read the metadata of ${textOf(at)}`);
  const { data } = answer.body as { readonly data: MetadataAnswer };
  return data.custom_metadata ?? {};
}

interface MetadataAnswer {
  readonly custom_metadata?: Readonly<Record<string, string>> | null;
  readonly versions?: Readonly<Record<string, { readonly destroyed?: boolean }>>;
}

export async function writeCustomMetadata(
  client: Asks,
  at: SecretPath,
  customMetadata: VaultSecret['customMetadata'],
): Promise<void> {
  const body = { custom_metadata: customMetadata };
  const answer = await client.request({ method: 'POST', path: pathOf('metadata', at), body });
  if (answer.status >= 300) throw refusal(answer, `write the metadata of ${textOf(at)}`);
}

/**
 * Makes the next version.
 *
 * @param over the version that was read; 0 where there was none
 * @returns false when another version has come meanwhile
 */
export async function writeSecret(
  client: Asks,
  at: SecretPath,
  data: VaultSecret['data'],
  over: number,
): Promise<boolean> {
  const body = { options: { cas: over }, data };
  const answer = await client.request({ method: 'POST', path: pathOf('data', at), body });
  if (answer.status < 300) return true;
  const isOvertaken = errorsIn(answer.body).some((one) =>
    one.startsWith('check-and-set parameter'),
  );
  if (answer.status === 400 && isOvertaken) return false;
  throw refusal(answer, `write ${textOf(at)}`);
}

/** Names in a folder, those of folders with a slash at the end. */
export async function listNames(client: Asks, at: SecretPath): Promise<string[]> {
  const query = { list: 'true' };
  const answer = await client.request({ method: 'GET', path: pathOf('metadata', at), query });
  if (answer.status === 404) return [];
  if (answer.status !== 200) throw refusal(answer, `list ${textOf(at)}`);
  const { data } = answer.body as { readonly data: { readonly keys: readonly string[] } };
  return [...data.keys];
}

/** With all its versions. */
export async function removeSecret(client: Asks, at: SecretPath): Promise<void> {
  const answer = await client.request({ method: 'DELETE', path: pathOf('metadata', at) });
  if (answer.status >= 300 && answer.status !== 404) throw refusal(answer, `remove ${textOf(at)}`);
}

/** What versions before this one hold can be read by nobody any more. */
export async function destroyBefore(client: Asks, at: SecretPath, version: number): Promise<void> {
  const answer = await client.request({ method: 'GET', path: pathOf('metadata', at) });
  if (answer.status !== 200) throw refusal(answer, `read the metadata of ${textOf(at)}`);
  const { data } = answer.body as { readonly data: MetadataAnswer };
  const versions = Object.entries(data.versions ?? {})
    .filter(([number, { destroyed }]) => Number(number) < version && destroyed !== true)
    .map(([number]) => Number(number));
  if (versions.length === 0) return;
  const body = { versions };
  const done = await client.request({ method: 'POST', path: pathOf('destroy', at), body });
  if (done.status >= 300) throw refusal(done, `destroy earlier versions of ${textOf(at)}`);
}

function pathOf(what: 'data' | 'metadata' | 'destroy', { mount, path }: SecretPath): string {
  return [mount, what, ...path.split('/')].map(encodeURIComponent).join('/');
}

function textOf({ mount, path }: SecretPath): string {
  return `${mount}/${path}`;
}
