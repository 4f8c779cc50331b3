/** Knows the files that `up` keeps in its home: the master key, the tenant's id, the credentials. */
import { randomBytes, randomInt } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type App, usesMasterKey } from '../../app.ts';
import { inspectStateFile, setAside, writeStateFile } from '../../embedded/state-file.ts';
import { Failure } from '../../failure.ts';
import { Secret } from '../../secret.ts';
import type { DatabaseSettings } from '../../settings.ts';
import { bootstrapTenant, type Tenant } from '../../store/bootstrap.ts';
import * as managedResources from '../../store/tables/managed-resources.ts';
import * as serviceAccounts from '../../store/tables/service-accounts.ts';
import * as syncLeases from '../../store/tables/sync-leases.ts';
import { Credentials, credentialsPathOf, credentialsText } from '../shared/credentials-file.ts';
import { describeDatabase } from '../shared/database.ts';

const masterKeyBytes = 32;

export interface TenantContext {
  readonly app: Pick<App, 'database' | 'keyring'>;
  readonly home: string;
  /** In whose name `up` syncs. */
  readonly owner: string;
  /** Where the server listens, without a path. */
  readonly url: string;
  /** Where inference is, with its `/v1`. */
  readonly inferenceUrl: string;
  readonly apiKeyPrefix: string;
  readonly auditLogs: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Called with one line a step. */
  readonly progress: (line: string) => void;
}

/**
 * The key in `HOME/master.key` (base64, mode 0600); null where there is no such file. Throws `Failure`
 * when the file does not hold a key.
 */
export function readMasterKey(home: string): Secret<Buffer> | null {
  const path = masterKeyPathOf(home);
  if (!existsSync(path)) return null;
  const text = statSync(path).isFile() ? readFileSync(path, 'utf8') : '';
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length >= masterKeyBytes) return new Secret(key, `file:${path}`);
  throw new Failure(
    'invalidInput',
    `${path} holds ${key.length} bytes; a master key has ${masterKeyBytes} or more, in base64. ` +
      'Put the original back: the secrets in the database cannot be read without it.',
  );
}

/** Writes a new key to `HOME/master.key`, for a database that was made with none yet. */
export function makeMasterKey(home: string): Secret<Buffer> {
  const path = masterKeyPathOf(home);
  const key = randomBytes(masterKeyBytes);
  writeStateFile(path, `${key.toString('base64')}\n`);
  return new Secret(key, `file:${path}`);
}

/**
 * The home's key, made where there is none and `database`, which is up, was made with none. Throws
 * `Failure` when that was made with one that the home does not have.
 */
export async function ensureMasterKey(
  home: string,
  database: DatabaseSettings,
): Promise<Secret<Buffer>> {
  const kept = readMasterKey(home);
  if (kept !== null) return kept;
  await assertNoMasterKey(home, database);
  return makeMasterKey(home);
}

/** Throws `Failure` when `database` was made with a master key, which the home does not have. */
export async function assertNoMasterKey(home: string, database: DatabaseSettings): Promise<void> {
  if (!(await usesMasterKey(database))) return;
  throw missingMasterKey(home, `The database ${describeDatabase(database)}`);
}

/** Refuses to go on without `HOME/master.key`; `database` names what was made with that key. */
export function missingMasterKey(home: string, database: string): Failure {
  const path = masterKeyPathOf(home);
  return new Failure(
    'refusedByGuard',
    `${path} is missing. ${database} was made with a master key, and API keys, client secrets and ` +
      'stored secrets in it cannot be used without that key, so no new one was made. ' +
      `Copy the file from a backup of the home to ${path}, or set GATEWRIGHT_MASTER_KEY to the ` +
      'original key. To begin without the data, pass another --home.',
  );
}

function masterKeyPathOf(home: string): string {
  return join(home, 'master.key');
}

/**
 * The credentials of the home's tenant, with the addresses of this start. They stay the same as
 * long as the database knows them; where the file was lost or damaged, a new service account is made
 * for the same tenant, because the old secret is nowhere in the clear.
 */
export async function ensureCredentials(context: TenantContext): Promise<void> {
  const path = credentialsPathOf(context.home);
  const kept = readKept(path, context.progress);
  const tenant =
    kept !== null && (await isKnown(context.app, kept)) ? kept : await makeTenant(context);
  writeStateFile(path, credentialsText(context.url, tenant, context.inferenceUrl));
}

type KeptTenant = Omit<Tenant, 'organisationId'>;

function readKept(path: string, progress: (line: string) => void): KeptTenant | null {
  const found = inspectStateFile(path, Credentials);
  if (found === null) return null;
  if (found.isDamaged) {
    const aside = setAside(path);
    progress(`${path} was damaged: set aside as ${aside}; making new credentials`);
    return null;
  }
  const { tsgId, clientId, ...secrets } = found.state;
  return {
    tsgId,
    clientId,
    clientSecret: new Secret(secrets.clientSecret, `file:${path}`),
    organisationApiKey: new Secret(secrets.organisationApiKey, `file:${path}`),
  };
}

/** False after a change of database, whose tenants are others. */
async function isKnown(app: TenantContext['app'], credentials: KeptTenant): Promise<boolean> {
  const account = await serviceAccounts.findByClientId(app.database.db, credentials.clientId);
  const hash = app.keyring.hashCredential(credentials.clientSecret.reveal());
  return account?.secret_hmac.equals(hash) ?? false;
}

async function makeTenant(context: TenantContext): Promise<KeptTenant> {
  const { app, home, owner, apiKeyPrefix, auditLogs, now } = context;
  const tenant = await bootstrapTenant(app.database, {
    keyring: app.keyring,
    tsgId: ensureTsgId(home),
    name: `up-${now.toString(36)}`,
    apiKeyPrefix,
    now,
    auditLogs,
  });
  const { organisationId, clientId } = tenant;
  // What the lost credential has declared is this home's own, and nobody else could go on with it.
  await app.database.transaction(async (tx) => {
    const account = (await serviceAccounts.findByClientId(tx, clientId))!;
    await syncLeases.updatePrincipal(tx, organisationId, owner, account.id);
    await managedResources.updateRecorder(tx, organisationId, owner, account.id);
  });
  return tenant;
}

/** Written before the tenant is made, so that a crash between the two does not make a second one. */
function ensureTsgId(home: string): string {
  const path = join(home, 'tsg-id');
  if (!existsSync(path)) {
    writeStateFile(path, `${randomInt(1_000_000_000, 10_000_000_000)}\n`);
  }
  const tsgId = statSync(path).isFile() ? readFileSync(path, 'utf8').trim() : '';
  if (Credentials.shape.tsgId.safeParse(tsgId).success) return tsgId;
  throw new Failure(
    'invalidInput',
    `${path} does not hold the 10 digits of the tenant's id. Put them back: they are the tsgId of ` +
      'older credentials of this home, and what the tenant owns cannot be found without them.',
  );
}
