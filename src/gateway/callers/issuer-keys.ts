/** Fetches and caches the public keys of token issuers; unknown key names cannot trigger unlimited fetches. */

import { type CryptoKey, importJWK, type JWK } from 'jose';
import { detach } from '../../detached.ts';
import type { IssuerOrigins } from './issuer-origins.ts';

/** An address that publishes keys, and the organisations they are valid for. */
export interface Issuer {
  /** Address of a JSON Web Key Set. */
  readonly url: string;
  /** Null for all organisations. */
  readonly tsgIds: ReadonlySet<string> | null;
}

export interface IssuerKey {
  readonly issuer: Issuer;
  readonly key: CryptoKey;
  readonly algorithm: string;
}

/** All keys of one name, and the version of the whole key set. */
export interface NamedKeys {
  readonly keys: readonly IssuerKey[];
  readonly version: string;
}

/** The keys of an issuer could not be fetched, so it is unknown whether a key exists. */
export class IssuerKeysUnavailable extends Error {
  override name = 'IssuerKeysUnavailable';
}

export interface IssuerKeysOptions {
  readonly issuers: readonly Issuer[];
  readonly origins: Pick<IssuerOrigins, 'at'>;
  /** Monotonic clock, milliseconds. */
  readonly monotonicMs: () => number;
  /** Reports keys that could not be fetched. */
  readonly onFailure: (error: unknown, url: string) => void;
}

/** Age at which keys are fetched again while they stay in use. */
const freshMs = 300_000;
/** Age at which keys that cannot be fetched again become invalid. */
const staleMs = 24 * 3_600_000;
/** Minimum interval of fetches, whatever key names callers send. */
const pauseMs = 30_000;
/** Minimum interval of fetches while no keys are known. */
const retryMs = 5_000;
const fetchMs = 3_000;
const bytesMax = 256 * 1024;
const keysMax = 100;
const kidLengthMax = 256;
const rsaBitsMin = 2048;

/** Algorithm of each key type; the header of a token cannot choose another. */
const algorithms: Readonly<Record<string, string>> = {
  RSA: 'RS256',
  'EC P-256': 'ES256',
  'OKP Ed25519': 'EdDSA',
};

/** Accepted signature algorithms; none uses a shared secret. */
export const tokenAlgorithms: ReadonlySet<unknown> = new Set(Object.values(algorithms));

export class IssuerKeys {
  readonly #sets: readonly KeySet[];

  constructor(options: IssuerKeysOptions) {
    this.#sets = options.issuers.map((issuer) => new KeySet(issuer, options));
  }

  /** Changes with any key, which invalidates all earlier verifications. */
  get version(): string {
    return this.#sets.map(({ version }) => version).join();
  }

  /** Starts a refresh of old keys; called whenever keys are used, not awaited. */
  renewIfStale(): void {
    for (const set of this.#sets) set.renewIfStale();
  }

  /**
   * Finds every key of that name; fetches only if none is cached.
   *
   * @throws IssuerKeysUnavailable when there is none and an issuer does not respond
   */
  async find(name: string): Promise<NamedKeys> {
    this.renewIfStale();
    const cached = this.#named(name);
    if (cached.keys.length > 0) return cached;
    await Promise.all(this.#sets.map((set) => set.refresh()));
    const fetched = this.#named(name);
    if (fetched.keys.length === 0 && this.#sets.some((set) => !set.isComplete)) {
      throw new IssuerKeysUnavailable('the keys of a token issuer cannot be fetched');
    }
    return fetched;
  }

  #named(name: string): NamedKeys {
    const keys = this.#sets.flatMap((set) => set.find(name) ?? []);
    return { keys, version: this.version };
  }
}

/** The keys that one address publishes. */
class KeySet {
  readonly #issuer: Issuer;
  readonly #options: IssuerKeysOptions;
  #keys: ReadonlyMap<string, IssuerKey> = new Map();
  /** The published text. */
  #text = '';
  #version = 0;
  /** Start of the last successful fetch. */
  #knownAtMs: number | null = null;
  /** Start of the last fetch. */
  #fetchedAtMs: number | null = null;
  #fetching: Promise<void> | null = null;
  #hasFailed = false;

  constructor(issuer: Issuer, options: IssuerKeysOptions) {
    this.#issuer = issuer;
    this.#options = options;
  }

  get version(): number {
    return this.#isStale() ? -1 : this.#version;
  }

  /** Whether a key that is not in the set certainly does not exist. */
  get isComplete(): boolean {
    return !this.#hasFailed && this.#knownAtMs !== null;
  }

  find(name: string): IssuerKey | undefined {
    return this.#isStale() ? undefined : this.#keys.get(name);
  }

  renewIfStale(): void {
    const { monotonicMs } = this.#options;
    const isStale = this.#knownAtMs !== null && monotonicMs() - this.#knownAtMs > freshMs;
    if (isStale) detach('fetching the keys of a token issuer', this.refresh());
  }

  /** Fetches the keys, unless the last fetch was too recent. */
  refresh(): Promise<void> {
    if (this.#fetching !== null) return this.#fetching;
    const { monotonicMs } = this.#options;
    const pause = this.#knownAtMs === null ? retryMs : pauseMs;
    const isSoon = this.#fetchedAtMs !== null && monotonicMs() - this.#fetchedAtMs < pause;
    if (isSoon) return Promise.resolve();
    this.#fetching = this.#fetch().finally(() => {
      this.#fetching = null;
    });
    return this.#fetching;
  }

  #isStale(): boolean {
    return this.#knownAtMs === null || this.#options.monotonicMs() - this.#knownAtMs > staleMs;
  }

  async #fetch(): Promise<void> {
    const startMs = this.#options.monotonicMs();
    this.#fetchedAtMs = startMs;
    try {
      const text = await download(this.#issuer.url, this.#options.origins);
      if (text !== this.#text || this.#isStale()) {
        this.#keys = await readKeys(text, this.#issuer);
        this.#text = text;
        this.#version += 1;
      }
      this.#knownAtMs = startMs;
      this.#hasFailed = false;
    } catch (error) {
      this.#hasFailed = true;
      this.#options.onFailure(error, this.#issuer.url);
    }
  }
}

async function download(address: string, origins: Pick<IssuerOrigins, 'at'>): Promise<string> {
  const { origin, pathname, search } = new URL(address);
  const { statusCode, body } = await origins.at(origin).request({
    origin,
    path: pathname + search,
    method: 'GET',
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(fetchMs),
  });
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    size += piece.length;
    // Leaving the loop closes the connection.
    if (size > bytesMax) throw new Error(`the key set has more than ${bytesMax} bytes`);
    pieces.push(piece);
  }
  if (statusCode !== 200) throw new Error(`the key set request returned status ${statusCode}`);
  return Buffer.concat(pieces).toString('utf8');
}

/** Returns the usable keys, without any whose name is not unique. */
async function readKeys(text: string, issuer: Issuer): Promise<Map<string, IssuerKey>> {
  const { keys } = JSON.parse(text) as { readonly keys?: unknown };
  if (!Array.isArray(keys)) throw new Error('the key set contains no list of keys');
  if (keys.length > keysMax) throw new Error(`the key set has more than ${keysMax} keys`);
  const keysByName = new Map<string, IssuerKey>();
  const repeated = new Set<string>();
  for (const jwk of keys as readonly (JWK | null)[]) {
    const name = jwk?.kid;
    if (typeof name !== 'string' || name.length > kidLengthMax) continue;
    const imported = await importKey(jwk!);
    if (imported === null) continue;
    if (keysByName.has(name)) repeated.add(name);
    keysByName.set(name, { ...imported, issuer });
  }
  for (const name of repeated) keysByName.delete(name);
  return keysByName;
}

/** Null for a key that does not sign tokens with an accepted algorithm. */
async function importKey(jwk: JWK): Promise<Omit<IssuerKey, 'issuer'> | null> {
  const { kty, crv, alg, use } = jwk;
  const algorithm = algorithms[crv === undefined ? String(kty) : `${kty} ${crv}`];
  if (algorithm === undefined || (alg ?? algorithm) !== algorithm) return null;
  if ((use ?? 'sig') !== 'sig') return null;
  try {
    // Drops the private part, in case an issuer publishes it by mistake.
    const { d: _, ...publicJwk } = jwk;
    const key = (await importJWK(publicJwk, algorithm)) as CryptoKey;
    const { modulusLength = rsaBitsMin } = key.algorithm as { readonly modulusLength?: number };
    return modulusLength < rsaBitsMin ? null : { key, algorithm };
  } catch {
    return null;
  }
}
