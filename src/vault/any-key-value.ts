/** Knows secrets of a key-value engine of either version: found by a whole path, wherever the engine is mounted. */
import type { VaultClient } from './vault-client.ts';
import { refusal, type VaultResponse } from './vault-exchange.ts';

/** Where an engine is mounted, as Vault tells whoever may read something in it. */
interface Mount {
  /** With a slash at the end. */
  readonly path: string;
  readonly options?: { readonly version?: string } | null;
}

/**
 * The fields of a secret. `path` begins with the mount; of version 2 it may say `data` after it, as the
 * API does, or not, as the command line does.
 *
 * @throws Failure when it cannot be told, or there is none
 */
export async function readFields(
  client: Pick<VaultClient, 'request'>,
  path: string,
): Promise<Readonly<Record<string, unknown>>> {
  const wanted = path.replace(/^\/+|\/+$/g, '');
  const found = await mountOf(client, wanted);
  const isVersioned = found?.options?.version === '2' && wanted.startsWith(found.path);
  const below = isVersioned ? wanted.slice(found.path.length).replace(/^data\//, '') : '';
  const asked = isVersioned ? `${found.path}data/${below}` : wanted;
  const answer = await client.request({ method: 'GET', path: escaped(asked) });
  const { data } = (answer.body ?? {}) as { readonly data?: unknown };
  if (answer.status !== 200 || !isFields(data)) throw refusal(answer, `read ${wanted}`);
  // Where nobody tells of the mount, an answer of version 2 is known by its form.
  if (!isFields(data.metadata) || !('data' in data)) return data;
  if (!isFields(data.data)) throw refusal(answer, `read ${wanted}`);
  return data.data;
}

async function mountOf(client: Pick<VaultClient, 'request'>, path: string): Promise<Mount | null> {
  const asked = `sys/internal/ui/mounts/${escaped(path)}`;
  const answer: VaultResponse = await client.request({ method: 'GET', path: asked });
  const { data } = (answer.body ?? {}) as { readonly data?: Partial<Mount> };
  return answer.status === 200 && typeof data?.path === 'string' ? (data as Mount) : null;
}

function escaped(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
