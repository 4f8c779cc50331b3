/** Reads secrets of a key-value engine of version 1 or 2 by their full path, wherever the engine is mounted. */
import type { VaultClient } from './vault-client.ts';
import { type VaultResponse, vaultRefusal } from './vault-exchange.ts';

/** Mount of an engine, which Vault reports to clients that may read in it. */
interface Mount {
  /** Ends with a slash. */
  readonly path: string;
  readonly options?: { readonly version?: string } | null;
}

/**
 * Returns the fields of a secret. `path` starts with the mount. For version 2, `data` may follow the mount,
 * like in the API, or be omitted, like on the command line.
 *
 * @throws Failure when the secret cannot be read or does not exist
 */
export async function readFields(
  client: Pick<VaultClient, 'request'>,
  path: string,
): Promise<Readonly<Record<string, unknown>>> {
  const secretPath = path.replace(/^\/+|\/+$/g, '');
  const mount = await mountOf(client, secretPath);
  const isVersioned = mount?.options?.version === '2' && secretPath.startsWith(mount.path);
  const below = isVersioned ? secretPath.slice(mount.path.length).replace(/^data\//, '') : '';
  const apiPath = isVersioned ? `${mount.path}data/${below}` : secretPath;
  const response = await client.request({ method: 'GET', path: escaped(apiPath) });
  const { data } = (response.body ?? {}) as { readonly data?: unknown };
  if (response.status !== 200 || !isFields(data))
    throw vaultRefusal(response, `read ${secretPath}`);
  // Without information about the mount, the structure identifies a response of version 2.
  if (!isFields(data.metadata) || !('data' in data)) return data;
  if (!isFields(data.data)) throw vaultRefusal(response, `read ${secretPath}`);
  return data.data;
}

async function mountOf(client: Pick<VaultClient, 'request'>, path: string): Promise<Mount | null> {
  const mountPath = `sys/internal/ui/mounts/${escaped(path)}`;
  const response: VaultResponse = await client.request({ method: 'GET', path: mountPath });
  const { data } = (response.body ?? {}) as { readonly data?: Partial<Mount> };
  return response.status === 200 && typeof data?.path === 'string' ? (data as Mount) : null;
}

function escaped(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
