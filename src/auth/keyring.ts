/** Knows the keys of a deployment, one a purpose and one an organisation, and everything done with them. */
import { createHmac, createSecretKey } from 'node:crypto';
import { Secret } from '../secret.ts';
import type { Database } from '../store/connection/db.ts';
import { ensureDataKey, findDataKey, openDeploymentKey } from './data-keys.ts';
import type { MasterKeys } from './master-keys.ts';
import { deriveKey, type SealingKey, seal, sealingKey, unseal } from './sealing.ts';

const tsgIdMin = 1_000_000_000n;
const sealersMax = 10_000;

/** Derived from the key of the deployment, which no rotation of the master key changes. */
export interface DeploymentKeys {
  /** HMAC-SHA256 of an API key or client secret under the pepper; what the database stores. */
  hashCredential(credential: string): Buffer;
  /** Which pepper that was, kept beside each hash, so that hashes of several can be told apart. */
  readonly pepperId: string;
  /** Key of the HMAC that proves a write-only value unchanged without showing it; another for each organisation and owner. */
  fingerprintKey(organisationId: string, owner: string): Buffer;
  /** Key of the HMACs that seal the audit log of an organisation. */
  auditKey(organisationId: string): Buffer;
  /** HMAC-SHA256 that proves a link to be this deployment's own. */
  signLink(link: string): Buffer;
  /** 32 bytes for the token signer. */
  readonly tokenSigningSeed: Buffer;
  /** 32 bytes that seal what a browser keeps while its owner signs in. */
  readonly signInKey: Buffer;
  /** Ten digits: the tenant that a deployment has before anybody names one. */
  readonly derivedTsgId: string;
  /** Secret of the service account that every replica can make anew. */
  deriveClientSecret(clientId: string): Secret;
}

/** The keys that a database keeps. Nothing but {@link Keyring.open} may be asked for before that. */
export interface Keyring extends DeploymentKeys {
  /**
   * Opens the key of the deployment, made where the database is used for the first time; proves the master
   * keys. @throws MissingMasterKey where any key of the database is under another one
   */
  open(): Promise<void>;
  /**
   * What seals for an organisation. Its key is read, or made, on a connection of its own the first time:
   * ask before a transaction begins. @throws MissingMasterKey
   */
  sealerOf(organisationId: string): Promise<Sealer>;
  /** As {@link sealerOf}, for those who only read: nothing is made. */
  unsealerOf(organisationId: string): Promise<Unsealer>;
}

export interface Unsealer {
  /** Reverses {@link Sealer.seal}; throws when the value was altered, moved or sealed for another organisation. */
  unseal(sealed: string, place: string): string;
}

export interface Sealer extends Unsealer {
  /** AES-256-GCM in text form; the organisation and `place` (table|row|column) are authenticated. */
  seal(plaintext: string, place: string): string;
}

/** By HKDF-SHA256 with a label a purpose (docs/database.md, Master key). */
export function deriveKeys(deploymentKey: Buffer): DeploymentKeys {
  const derive = (purpose: string): Buffer => deriveKey(deploymentKey, purpose);
  // Read once: a raw key would be taken in anew for every credential.
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
    derivedTsgId: String(tsgIdMin + (derive('tsg-id').readBigUInt64BE() % (9n * tsgIdMin))),
    deriveClientSecret: (clientId) =>
      new Secret(
        createHmac('sha256', clientSecrets).update(clientId).digest('base64url'),
        'derived from the key of the deployment',
      ),
  };
}

/** The keys that the database keeps under these master keys. */
export function createKeyring(
  { db, readable }: Pick<Database, 'db' | 'readable'>,
  masterKeys: MasterKeys,
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
      keys = deriveKeys(await openDeploymentKey(db, masterKeys));
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
    get derivedTsgId() {
      return opened().derivedTsgId;
    },
    deriveClientSecret: (clientId) => opened().deriveClientSecret(clientId),
    sealerOf: async (organisationId) =>
      sealers.get(organisationId) ??
      keep(organisationId, await ensureDataKey(db, masterKeys, organisationId)),
    unsealerOf: async (organisationId) => {
      const known = sealers.get(organisationId);
      if (known !== undefined) return known;
      const dataKey = await findDataKey(readable, masterKeys, organisationId);
      return dataKey === null ? nothingSealed : keep(organisationId, dataKey);
    },
  };
}

/** For an organisation that has no key, and so nothing that was sealed. */
const nothingSealed: Unsealer = {
  unseal: () => {
    throw new TypeError('a value is sealed, but its organisation has no key');
  },
};

export function createSealer(key: SealingKey, organisationId: string): Sealer {
  return {
    seal: (plaintext, place) => seal(key, plaintext, `${organisationId}|${place}`),
    unseal: (sealed, place) => unseal(key, sealed, `${organisationId}|${place}`),
  };
}
