/** Caches values of secret managers: refreshes them in the background, and keeps them longer during outages. */

import type { Clock } from '../../clock.ts';
import { detach } from '../../detached.ts';
import { type ManagedSecret, SecretUnreadable } from '../../secret-managers/managed-secret.ts';
import type { SecretLocation, SecretManagers } from '../../secret-managers/secret-managers.ts';

/** Age up to which a value is used without a refresh. */
const freshMs = 5 * 60_000;
/** Age up to which a value is used while it is refreshed in the background. */
const staleMs = 10 * 60_000;
/** Age up to which a value is used while the secret manager does not respond. */
const graceMs = 60 * 60_000;
/** Wait after a failed read. */
const pauseMs = 5_000;
const valuesMax = 10_000;

interface Entry {
  value: { readonly secret: ManagedSecret; readonly readAt: number } | null;
  failure: { readonly error: SecretUnreadable; readonly until: number } | null;
  reading: Promise<void> | null;
}

export interface SecretValueCacheOptions {
  readonly managers: Pick<SecretManagers, 'read'>;
  readonly clock: Clock;
  /** Reports every failed read, even if a cached value replaces it. */
  readonly onFailure: (error: SecretUnreadable, location: SecretLocation) => void;
}

export class SecretValueCache {
  readonly #options: SecretValueCacheOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: SecretValueCacheOptions) {
    this.#options = options;
  }

  /** Returns a usable value; undefined when it must be read first. */
  peek(location: SecretLocation): ManagedSecret | undefined {
    const entry = this.#entries.get(keyOf(location));
    if (entry?.value === null || entry === undefined) return undefined;
    const ageMs = this.#options.clock.now() - entry.value.readAt;
    if (ageMs < freshMs) return entry.value.secret;
    if (ageMs < staleMs) {
      if (!this.#isPaused(entry)) {
        detach('reading a secret again', this.#read(location, entry));
      }
      return entry.value.secret;
    }
    return this.#isPaused(entry) && ageMs < graceMs ? entry.value.secret : undefined;
  }

  /**
   * Reads the value; concurrent calls share the read.
   *
   * @throws SecretUnreadable when no cached value replaces it
   */
  async get(location: SecretLocation): Promise<ManagedSecret> {
    const entry = this.#entryOf(location);
    if (!this.#isPaused(entry)) await this.#read(location, entry);
    const { value, failure } = entry;
    const now = this.#options.clock.now();
    if (value !== null && (failure === null || now - value.readAt < graceMs)) return value.secret;
    throw failure!.error;
  }

  #isPaused({ failure }: Entry): boolean {
    return failure !== null && this.#options.clock.now() < failure.until;
  }

  #entryOf(location: SecretLocation): Entry {
    const key = keyOf(location);
    const cached = this.#entries.get(key);
    if (cached !== undefined) return cached;
    const entry: Entry = { value: null, failure: null, reading: null };
    this.#entries.set(key, entry);
    if (this.#entries.size > valuesMax) this.#entries.delete(this.#entries.keys().next().value!);
    return entry;
  }

  /** Never rejects; stores the result in the entry. */
  #read(location: SecretLocation, entry: Entry): Promise<void> {
    entry.reading ??= this.#readInto(location, entry).finally(() => {
      entry.reading = null;
    });
    return entry.reading;
  }

  async #readInto(location: SecretLocation, entry: Entry): Promise<void> {
    const { managers, clock, onFailure } = this.#options;
    try {
      const secret = await managers.read(location);
      entry.value = { secret: secret, readAt: clock.now() };
      entry.failure = null;
    } catch (thrown) {
      const error =
        thrown instanceof SecretUnreadable
          ? thrown
          : new SecretUnreadable('it failed', true, { cause: thrown });
      entry.failure = { error, until: clock.now() + pauseMs };
      // An explicit refusal revokes the cached value.
      if (!error.isUnavailable) entry.value = null;
      onFailure(error, location);
    }
  }
}

function keyOf({ id, mark }: SecretLocation): string {
  return `${id} ${mark}`;
}
