/** Knows the public keys of those who issue tokens: fetched from their addresses, kept while they are fresh, and asked for again for no stranger's sake. */
import { type CryptoKey, importJWK, type JWK } from 'jose';
import type { IssuerOrigins } from './issuer-origins.ts';

/** Where keys are published, and for whose organisations they are good. */
export interface Issuer {
  /** Of a JSON Web Key Set. */
  readonly url: string;
  /** Null for all of them. */
  readonly tsgIds: ReadonlySet<string> | null;
}

export interface IssuerKey {
  readonly issuer: Issuer;
  readonly key: CryptoKey;
  readonly algorithm: string;
}

/** Keys of one name, and the version of all of them then. */
export interface NamedKeys {
  readonly keys: readonly IssuerKey[];
  readonly version: string;
}

/** Whether a key exists cannot be said: the keys of some issuer could not be fetched. */
export class KeysUnknown extends Error {
  override name = 'KeysUnknown';
}

export interface IssuerKeysOptions {
  readonly issuers: readonly Issuer[];
  readonly origins: Pick<IssuerOrigins, 'at'>;
  /** By a clock that never goes back. */
  readonly monotonicMs: () => number;
  /** Keys that could not be fetched. */
  readonly onFailure: (error: unknown, url: string) => void;
}

/** After this, keys in use are fetched again, while they go on being used. */
const freshMs = 300_000;
/** After this, keys that cannot be fetched again are good no more. */
const staleMs = 24 * 3_600_000;
/** Between two fetches, whatever strangers ask for. */
const pauseMs = 30_000;
/** Between two fetches where nothing is known yet. */
const retryMs = 5_000;
const fetchMs = 3_000;
const bytesMax = 256 * 1024;
const keysMax = 100;
const kidLengthMax = 256;
const rsaBitsMin = 2048;

/** By the sort of key: each is good for one algorithm, whatever a token says. */
const algorithms: Readonly<Record<string, string>> = {
  RSA: 'RS256',
  'EC P-256': 'ES256',
  'OKP Ed25519': 'EdDSA',
};

/** What tokens may be signed with; none of it with a secret that two sides know. */
export const tokenAlgorithms: ReadonlySet<unknown> = new Set(Object.values(algorithms));

export class IssuerKeys {
  readonly #sets: readonly KeySet[];

  constructor(options: IssuerKeysOptions) {
    this.#sets = options.issuers.map((issuer) => new KeySet(issuer, options));
  }

  /** Changes when any key does: what was verified before has to be verified anew. */
  get version(): string {
    return this.#sets.map(({ version }) => version).join();
  }

  /** To be called whenever keys are relied on; nobody waits for it. */
  renewIfOld(): void {
    for (const set of this.#sets) set.renewIfOld();
  }

  /**
   * Every key of that name, at once where one is known.
   *
   * @throws KeysUnknown where there is none and some issuer does not answer
   */
  async find(name: string): Promise<NamedKeys> {
    this.renewIfOld();
    const known = this.#named(name);
    if (known.keys.length > 0) return known;
    await Promise.all(this.#sets.map((set) => set.askAgain()));
    const found = this.#named(name);
    if (found.keys.length === 0 && this.#sets.some((set) => !set.isSound)) {
      throw new KeysUnknown('the keys of an issuer of tokens cannot be fetched now');
    }
    return found;
  }

  #named(name: string): NamedKeys {
    const keys = this.#sets.flatMap((set) => set.find(name) ?? []);
    return { keys, version: this.version };
  }
}

/** What one address publishes. */
class KeySet {
  readonly #issuer: Issuer;
  readonly #options: IssuerKeysOptions;
  #keys: ReadonlyMap<string, IssuerKey> = new Map();
  /** As they were published. */
  #text = '';
  #version = 0;
  /** When the last fetch began that succeeded, and the last of all. */
  #knownAtMs: number | null = null;
  #askedAtMs: number | null = null;
  #fetching: Promise<void> | null = null;
  #hasFailed = false;

  constructor(issuer: Issuer, options: IssuerKeysOptions) {
    this.#issuer = issuer;
    this.#options = options;
  }

  get version(): number {
    return this.#isStale() ? -1 : this.#version;
  }

  /** Whether what is not among its keys is known not to be. */
  get isSound(): boolean {
    return !this.#hasFailed && this.#knownAtMs !== null;
  }

  find(name: string): IssuerKey | undefined {
    return this.#isStale() ? undefined : this.#keys.get(name);
  }

  /** Nobody waits for it. */
  renewIfOld(): void {
    const { monotonicMs } = this.#options;
    if (this.#knownAtMs !== null && monotonicMs() - this.#knownAtMs > freshMs) void this.askAgain();
  }

  /** Waits for a fetch, unless the last one was a moment ago. */
  askAgain(): Promise<void> {
    if (this.#fetching !== null) return this.#fetching;
    const { monotonicMs } = this.#options;
    const pause = this.#knownAtMs === null ? retryMs : pauseMs;
    const isSoon = this.#askedAtMs !== null && monotonicMs() - this.#askedAtMs < pause;
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
    const askedAtMs = this.#options.monotonicMs();
    this.#askedAtMs = askedAtMs;
    try {
      const text = await download(this.#issuer.url, this.#options.origins);
      if (text !== this.#text || this.#isStale()) {
        this.#keys = await readKeys(text, this.#issuer);
        this.#text = text;
        this.#version += 1;
      }
      this.#knownAtMs = askedAtMs;
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
    ...{ origin, path: pathname + search, method: 'GET' },
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(fetchMs),
  });
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    size += piece.length;
    // To leave the loop ends the connection.
    if (size > bytesMax) throw new Error(`the key set has more than ${bytesMax} bytes`);
    pieces.push(piece);
  }
  if (statusCode !== 200) throw new Error(`the key set is answered with status ${statusCode}`);
  return Buffer.concat(pieces).toString('utf8');
}

/** Those that can be used; of a name that several keys have, none. */
async function readKeys(text: string, issuer: Issuer): Promise<Map<string, IssuerKey>> {
  const { keys } = JSON.parse(text) as { readonly keys?: unknown };
  if (!Array.isArray(keys)) throw new Error('the key set has no list of keys');
  if (keys.length > keysMax) throw new Error(`the key set has more than ${keysMax} keys`);
  const found = new Map<string, IssuerKey>();
  const repeated = new Set<string>();
  for (const jwk of keys as readonly (JWK | null)[]) {
    const name = jwk?.kid;
    if (typeof name !== 'string' || name.length > kidLengthMax) continue;
    const imported = await importKey(jwk!);
    if (imported === null) continue;
    if (found.has(name)) repeated.add(name);
    found.set(name, { ...imported, issuer });
  }
  for (const name of repeated) found.delete(name);
  return found;
}

/** Null for what signs no tokens, or not as we take them. */
async function importKey(jwk: JWK): Promise<Omit<IssuerKey, 'issuer'> | null> {
  const { kty, crv, alg, use } = jwk;
  const algorithm = algorithms[crv === undefined ? String(kty) : `${kty} ${crv}`];
  if (algorithm === undefined || (alg ?? algorithm) !== algorithm) return null;
  if ((use ?? 'sig') !== 'sig') return null;
  try {
    // Of a private key that somebody has published, the public part.
    const { d: _, ...open } = jwk;
    const key = (await importJWK(open, algorithm)) as CryptoKey;
    const { modulusLength = rsaBitsMin } = key.algorithm as { readonly modulusLength?: number };
    return modulusLength < rsaBitsMin ? null : { key, algorithm };
  } catch {
    return null;
  }
}
