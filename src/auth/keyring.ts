/**
 * Derives the keys of a deployment, one for each purpose, and seals values with the keys of organisations.
 */
import { createHmac, createSecretKey } from 'node:crypto';
import { Failure } from '../failure.ts';
import { Secret } from '../secret.ts';
import type { Database } from '../store/connection/db.ts';
import * as dataKeys from '../store/resources/data-keys.ts';
import { ensureDataKey, openDeploymentKey } from './data-keys.ts';
import type { MasterKeys } from './master-keys.ts';
import { deriveKey, type SealingKey, sealingKey, sealText, unsealText } from './sealing.ts';

const tsgIdMin = 1_000_000_000n;
const sealersMax = 10_000;

/** Derived from the deployment key, which no rotation of the master key changes. */
export interface DeploymentKeys {
  /** HMAC-SHA256 of an API key or client secret with the pepper; this is what the database stores. */
  hashCredential(credential: string): Buffer;
  /** Id of the pepper, stored with each hash to distinguish several peppers. */
  readonly pepperId: string;
  /**
   * HMAC key that proves a write-only value unchanged without revealing it; differs by organisation and
   * owner.
   */
  fingerprintKey(organisationId: string, owner: string): Buffer;
  /** Key of the HMACs that seal the audit log of an organisation. */
  auditKey(organisationId: string): Buffer;
  /** HMAC-SHA256 that proves that a link was issued by this deployment. */
  signLink(link: string): Buffer;
  /** 32 bytes for the token signer. */
  readonly tokenSigningSeed: Buffer;
  /** 32 bytes that seal the sign-in cookie of a browser. */
  readonly signInKey: Buffer;
  /** 32 bytes that seal the ids of MCP sessions. */
  readonly mcpSessionKey: Buffer;
  /** 32 bytes that seal what callers of realtime sessions hold for the gateway. */
  readonly realtimeKey: Buffer;
  /** 32 bytes that seal the records of the spool. */
  readonly spoolKey: Buffer;
  /** 32 bytes for the signer of identities at MCP servers. */
  readonly mcpIdentitySeed: Buffer;
  /** Ten digits: the tenant id of a deployment that is given none. */
  readonly derivedTsgId: string;
  /** Secret of the built-in service account, which every replica can derive. */
  deriveClientSecret(clientId: string): Secret;
}

/** The deployment's keys. Only {@link Keyring.open} or {@link Keyring.openFrom} may be called first. */
export interface Keyring extends DeploymentKeys {
  /**
   * Opens the deployment key, created when the database is used for the first time, and verifies the
   * master keys. @throws MissingMasterKey when any data key is wrapped by a master key that is missing
   */
  open(): Promise<void>;
  /**
   * Opens the deployment key from a snapshot. A later {@link open} fails when the database has another key.
   *
   * @throws MissingMasterKey
   */
  openFrom(row: dataKeys.DataKeyRow): void;
  /**
   * Returns the sealer of an organisation. The first call reads or creates its key on a separate
   * connection: call it before a transaction begins. @throws MissingMasterKey
   */
  sealerOf(organisationId: string): Promise<Sealer>;
  /** Like {@link sealerOf}, for readers: creates nothing. */
  unsealerOf(organisationId: string): Promise<Unsealer>;
}

export interface Unsealer {
  /**
   * Reverses {@link Sealer.seal}; throws when the value was altered, moved or sealed for another
   * organisation.
   */
  unseal(sealed: string, place: string): string;
}

export interface Sealer extends Unsealer {
  /** AES-256-GCM in text form; the organisation and `place` (table|row|column) are authenticated. */
  seal(plaintext: string, place: string): string;
}

/** Uses HKDF-SHA256 with one label per purpose (docs/guides/database.md, Master key). */
export function deriveKeys(deploymentKey: Buffer): DeploymentKeys {
  const derive = (purpose: string): Buffer => deriveKey(deploymentKey, purpose);
  // Imported once: a raw key would be imported again for every credential.
  const pepper = createSecretKey(derive('pepper'));
  const fingerprint = derive('fingerprint');
  const audit = derive('audit');
  const links = derive('links');
  const clientSecrets = derive('client-secrets');
  return {
    hashCredential: (credential) => createHmac('sha256', pepper).update(credential).digest(),
    pepperId: derive('pepper-id').toString('hex', 0, 4),
    fingerprintKey: (organisationId, owner) =>
      createHmac('sha256', fingerprint).update(`${organisationId}\n${owner}`).digest(),
    auditKey: (organisationId) => createHmac('sha256', audit).update(organisationId).digest(),
    signLink: (link) => createHmac('sha256', links).update(link).digest(),
    tokenSigningSeed: derive('token-sign'),
    signInKey: derive('sign-in'),
    mcpSessionKey: derive('mcp-sessions'),
    realtimeKey: derive('realtime'),
    mcpIdentitySeed: derive('mcp-identities'),
    spoolKey: derive('spool'),
    derivedTsgId: String(tsgIdMin + (derive('tsg-id').readBigUInt64BE() % (9n * tsgIdMin))),
    deriveClientSecret: (clientId) =>
      new Secret(
        createHmac('sha256', clientSecrets).update(clientId).digest('base64url'),
        'derived from the key of the deployment',
      ),
  };
}

/** Creates the keyring over the data keys of the database. */
export function createKeyring(
  { db, readable }: Pick<Database, 'db' | 'readable'>,
  masterKeys: MasterKeys,
  findRow: (organisationId: string) => Promise<dataKeys.DataKeyRow | undefined> = (id) =>
    dataKeys.find(readable, id),
): Keyring {
  let keys: DeploymentKeys | undefined;
  const opened = (): DeploymentKeys => {
    if (keys === undefined) throw new Error('the keyring is not open yet');
    return keys;
  };
  const sealers = new Map<string, Sealer>();
  const keep = (organisationId: string, dataKey: Buffer): Sealer => {
    if (sealers.size === sealersMax) sealers.delete(sealers.keys().next().value!);
    const sealer = createSealer(sealingKey(dataKey, 'seal'), organisationId);
    sealers.set(organisationId, sealer);
    return sealer;
  };
  return {
    open: async () => {
      const found = deriveKeys(await openDeploymentKey(db, masterKeys));
      if (keys !== undefined && keys.pepperId !== found.pepperId) throw otherDeployment();
      keys = found;
    },
    openFrom: ({ wrapped_key, organisation_id }) => {
      keys ??= deriveKeys(masterKeys.unwrap(wrapped_key, organisation_id));
    },
    hashCredential: (credential) => opened().hashCredential(credential),
    get pepperId() {
      return opened().pepperId;
    },
    fingerprintKey: (...of) => opened().fingerprintKey(...of),
    auditKey: (organisationId) => opened().auditKey(organisationId),
    signLink: (link) => opened().signLink(link),
    get tokenSigningSeed() {
      return opened().tokenSigningSeed;
    },
    get signInKey() {
      return opened().signInKey;
    },
    get mcpSessionKey() {
      return opened().mcpSessionKey;
    },
    get realtimeKey() {
      return opened().realtimeKey;
    },
    get spoolKey() {
      return opened().spoolKey;
    },
    get mcpIdentitySeed() {
      return opened().mcpIdentitySeed;
    },
    get derivedTsgId() {
      return opened().derivedTsgId;
    },
    deriveClientSecret: (clientId) => opened().deriveClientSecret(clientId),
    sealerOf: async (organisationId) =>
      sealers.get(organisationId) ??
      keep(organisationId, await ensureDataKey(db, masterKeys, organisationId)),
    unsealerOf: async (organisationId) => {
      const cached = sealers.get(organisationId);
      if (cached !== undefined) return cached;
      const row = await findRow(organisationId);
      if (row === undefined) return nothingSealed;
      return keep(organisationId, masterKeys.unwrap(row.wrapped_key, organisationId));
    },
  };
}

function otherDeployment(): Failure {
  return new Failure(
    'invalidInput',
    'The database belongs to another deployment than the snapshot that this process serves: connect it to the ' +
      'database of the deployment, or empty GATEWRIGHT_SNAPSHOT_DIRECTORY.',
  );
}

/** For an organisation without a key, which therefore has no sealed values. */
const nothingSealed: Unsealer = {
  unseal: () => {
    throw new TypeError('a value is sealed, but its organisation has no key');
  },
};

export function createSealer(key: SealingKey, organisationId: string): Sealer {
  return {
    seal: (plaintext, place) => sealText(key, plaintext, `${organisationId}|${place}`),
    unseal: (sealed, place) => unsealText(key, sealed, `${organisationId}|${place}`),
  };
}
