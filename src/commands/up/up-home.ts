/** Knows the files that `up` keeps in its home for its tenant: the id and the credentials. */
import { randomInt } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { App } from '../../app.ts';
import { inspectStateFile, setAside, writeStateFile } from '../../embedded/state-file.ts';
import { Failure } from '../../failure.ts';
import { Secret } from '../../secret.ts';
import { bootstrapTenant, type BootstrappedTenant } from '../../store/bootstrap.ts';
import * as serviceAccounts from '../../store/people/service-accounts.ts';
import * as managedResources from '../../store/sync/managed-resources.ts';
import * as syncLeases from '../../store/sync/sync-leases.ts';
import { Credentials, credentialsPathOf, credentialsText } from '../shared/credentials-file.ts';

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

type KeptTenant = Omit<BootstrappedTenant, 'organisationId'>;

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
