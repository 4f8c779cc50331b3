/** Reads and writes the tenant id and credentials in the home of `up`. */
import { randomInt } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { App } from '../../app.ts';
import { inspectStateFile, setAside, writeStateFile } from '../../embedded/state-file.ts';
import { Failure } from '../../failure.ts';
import { Secret } from '../../secret.ts';
import { type BootstrappedTenant, bootstrapTenant } from '../../store/bootstrap.ts';
import * as serviceAccounts from '../../store/people/service-accounts.ts';
import * as managedResources from '../../store/sync/managed-resources.ts';
import * as syncLeases from '../../store/sync/sync-leases.ts';
import { Credentials, credentialsPathOf, credentialsText } from '../shared/credentials-file.ts';

export interface TenantContext {
  readonly app: Pick<App, 'database' | 'keyring'>;
  readonly home: string;
  /** Owner of the synced resources. */
  readonly owner: string;
  /** Address of the server without a path. */
  readonly url: string;
  /** Address of inference, ending in `/v1`. */
  readonly inferenceUrl: string;
  readonly apiKeyPrefix: string;
  readonly auditLogs: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Called with one line for each step. */
  readonly progress: (line: string) => void;
}

/**
 * Writes the credentials of the home's tenant with the addresses of this start. They stay the same
 * while the database accepts them. If the file is lost or damaged, a new service account is created for
 * the same tenant, because the old secret is stored only as a hash.
 */
export async function ensureCredentials(context: TenantContext): Promise<void> {
  const path = credentialsPathOf(context.home);
  const existing = readCredentialsFile(path, context.progress);
  const tenant =
    existing !== null && (await isValid(context.app, existing))
      ? existing
      : await createTenant(context);
  writeStateFile(path, credentialsText(context.url, tenant, context.inferenceUrl));
}

type TenantCredentials = Omit<BootstrappedTenant, 'organisationId'>;

function readCredentialsFile(
  path: string,
  progress: (line: string) => void,
): TenantCredentials | null {
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

/** False after a change to a database with other tenants. */
async function isValid(
  app: TenantContext['app'],
  credentials: TenantCredentials,
): Promise<boolean> {
  const account = await serviceAccounts.findByClientId(app.database.db, credentials.clientId);
  const hash = app.keyring.hashCredential(credentials.clientSecret.reveal());
  return account?.secret_hmac.equals(hash) ?? false;
}

async function createTenant(context: TenantContext): Promise<TenantCredentials> {
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
  // Resources of the lost credential belong to this home; only it can continue to manage them.
  await app.database.transaction(async (tx) => {
    const account = (await serviceAccounts.findByClientId(tx, clientId))!;
    await syncLeases.updatePrincipal(tx, organisationId, owner, account.id);
    await managedResources.updateRecorder(tx, organisationId, owner, account.id);
  });
  return tenant;
}

/** Written before the tenant is created, so that a crash in between does not create a second one. */
function ensureTsgId(home: string): string {
  const path = join(home, 'tsg-id');
  if (!existsSync(path)) {
    writeStateFile(path, `${randomInt(1_000_000_000, 10_000_000_000)}\n`);
  }
  const tsgId = statSync(path).isFile() ? readFileSync(path, 'utf8').trim() : '';
  if (Credentials.shape.tsgId.safeParse(tsgId).success) return tsgId;
  throw new Failure(
    'invalidInput',
    `${path} does not contain the 10 digits of the tenant id. Restore them: they are the tsgId of ` +
      'older credentials of this home, and without them the resources of the tenant cannot be found.',
  );
}
