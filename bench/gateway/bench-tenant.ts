/** Creates the tenant for gateway measurements: providers, configs, and keys with and without limits. */
import { randomUUID } from 'node:crypto';
import { createKeyring } from '../../src/auth/keyring.ts';
import { createMasterKeys } from '../../src/auth/master-keys.ts';
import { makeApiKey } from '../../src/model/people/credentials.ts';
import { readSettings } from '../../src/settings.ts';
import { openDatabase } from '../../src/store/connection/db.ts';
import { apiKeyRow } from '../../test/support/rows/api-key-row.ts';
import { type Server, startProduct, type Tenant } from '../product.ts';

export interface BenchTenant {
  /** Has cost budgets on the key and its workspace and a rate limit, none of which is reached. */
  readonly limitedKey: string;
  /** Has no limits; uses an equal config and provider. */
  readonly plainKey: string;
  /** Keys without limits, each with one of the configs. */
  readonly manyKeys: readonly string[];
}

const scopes = ['completions.write'];
const rows = 1_000;

export async function fillTenant(
  env: Readonly<Record<string, string>>,
  { organisationApiKey }: Tenant,
  upstream: string,
  many: { readonly keys: number; readonly configs: number },
): Promise<BenchTenant> {
  const product = await startProduct(env);
  const post = poster(product, organisationApiKey);
  const budget = { type: 'cost', credit_limit: 1_000_000 };
  const limited = await addWorkspace(post, upstream, 'limited', budget);
  const plain = await addWorkspace(post, upstream, 'plain', null);
  const rate_limits = [{ type: 'requests', unit: 'rpm', value: 100_000_000 }];
  const limits = { usage_limits: budget, rate_limits };
  const { key: limitedKey } = await addKey(post, limited, limits);
  const { key: plainKey, id } = await addKey(post, plain, {});
  const configIds = await addConfigs(post, plain, many.configs);
  product.process.kill('SIGKILL');
  const manyKeys = await addManyKeys(env, id, many.keys, configIds);
  return { limitedKey, plainKey, manyKeys };
}

type Post = (path: string, body: object) => Promise<Record<string, string>>;

function poster({ url }: Server, key: string): Post {
  return async (path, body) => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`POST ${path}: ${text}`);
    return JSON.parse(text) as Record<string, string>;
  };
}

interface BenchWorkspace {
  readonly workspaceId: string;
  readonly configSlug: string;
  readonly config: object;
}

async function addWorkspace(
  post: Post,
  upstream: string,
  name: string,
  usage_limits: object | null,
): Promise<BenchWorkspace> {
  const limits = usage_limits === null ? {} : { usage_limits: [usage_limits] };
  const { id: workspaceId } = await post('/v1/admin/workspaces', { name, ...limits });
  const { id: integration_id } = await post('/v1/integrations', {
    name,
    ai_provider_id: 'openai',
    key: 'sk-bench',
    workspace_id: workspaceId,
    configurations: { custom_host: `${upstream}/v1` },
  });
  const at = { workspace_id: workspaceId };
  const { slug } = await post('/v1/providers', { ...at, name, integration_id });
  const config = { provider: `@${slug}`, retry: { attempts: 3 }, request_timeout: 60_000 };
  const { slug: configSlug } = await post('/v1/configs', { ...at, name, config });
  return { workspaceId: workspaceId!, configSlug: configSlug!, config };
}

async function addKey(
  post: Post,
  { workspaceId, configSlug }: BenchWorkspace,
  limits: object,
): Promise<{ key: string; id: string }> {
  const defaults = { config_id: configSlug, metadata: { team: 'bench' } };
  const body = { name: 'bench', scopes, workspace_id: workspaceId, defaults, ...limits };
  const { key, id } = await post('/v1/api-keys/workspace/service', body);
  return { key: key!, id: id! };
}

async function addConfigs(post: Post, { workspaceId, config }: BenchWorkspace, count: number) {
  const ids: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const body = { name: `config ${at}`, workspace_id: workspaceId, config };
    ids.push((await post('/v1/configs', body)).id!);
  }
  return ids;
}

/** Inserts keys directly into the database, each a copy of the key with the given id. */
async function addManyKeys(
  env: Readonly<Record<string, string>>,
  likeId: string,
  count: number,
  configIds: readonly string[],
): Promise<string[]> {
  const settings = readSettings(env);
  await using database = openDatabase(settings.database!);
  const keyring = createKeyring(database, createMasterKeys(settings.masterKeys!));
  await keyring.open();
  const { db } = database;
  const { version: _, ...like } = await db
    .selectFrom('api_keys')
    .selectAll()
    .where('id', '=', likeId)
    .executeTakeFirstOrThrow();
  const keys = Array.from({ length: count }, () => makeApiKey(''));
  for (let from = 0; from < count; from += rows) {
    const some = keys.slice(from, from + rows).map((key, at) => ({
      hash: keyring.hashCredential(key),
      id: randomUUID(),
      config_id: configIds[(from + at) % configIds.length]!,
    }));
    const keyRows = some.map(({ id, config_id }) => apiKeyRow({ ...like, id, config_id }));
    await db.insertInto('api_keys').values(keyRows).execute();
    const hashes = some.map(({ hash, id }) => ({
      hash,
      pepper_id: keyring.pepperId,
      organisation_id: like.organisation_id,
      api_key_id: id,
      valid_from: 0,
      valid_until: null,
    }));
    await db.insertInto('api_key_hashes').values(hashes).execute();
  }
  return keys;
}
