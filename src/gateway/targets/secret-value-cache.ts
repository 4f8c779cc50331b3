/** Knows values that were read from secret managers: fresh for a while, read anew behind requests, and good for longer where nobody answers. */
import type { Clock } from '../../clock.ts';
import { type ManagedSecret, SecretUnreadable } from '../../secret-managers/kept-secret.ts';
import type { SecretManagers, SecretPlace } from '../../secret-managers/secret-managers.ts';

/** No request waits for what was read so short a time ago. */
const freshMs = 5 * 60_000;
/** Until then a request goes on with what is known while it is read anew. */
const staleMs = 10 * 60_000;
/** Until then what is known stands in where the manager does not answer. */
const graceMs = 60 * 60_000;
/** A manager that could not be read is not asked again so soon. */
const silentMs = 5_000;
const valuesMax = 10_000;

interface Entry {
  value: { readonly secret: ManagedSecret; readonly readAt: number } | null;
  failure: { readonly error: SecretUnreadable; readonly until: number } | null;
  reading: Promise<void> | null;
}

export interface SecretValueCacheOptions {
  readonly managers: Pick<SecretManagers, 'read'>;
  readonly clock: Clock;
  /** Told of each read that failed, whatever stands in. */
  readonly onFailure: (error: SecretUnreadable, place: SecretPlace) => void;
}

export class SecretValueCache {
  readonly #options: SecretValueCacheOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: SecretValueCacheOptions) {
    this.#options = options;
  }

  /** What is known and good enough to go on with; undefined where it has to be waited for. */
  peek(place: SecretPlace): ManagedSecret | undefined {
    const entry = this.#entries.get(keyOf(place));
    if (entry?.value === null || entry === undefined) return undefined;
    const ageMs = this.#options.clock.now() - entry.value.readAt;
    if (ageMs < freshMs) return entry.value.secret;
    if (ageMs < staleMs) {
      if (!this.#isSilent(entry)) void this.#read(place, entry);
      return entry.value.secret;
    }
    return this.#isSilent(entry) && ageMs < graceMs ? entry.value.secret : undefined;
  }

  /**
   * Read anew; those who come meanwhile share the read.
   *
   * @throws SecretUnreadable where nothing stands in for it
   */
  async get(place: SecretPlace): Promise<ManagedSecret> {
    const entry = this.#entryOf(place);
    if (!this.#isSilent(entry)) await this.#read(place, entry);
    const { value, failure } = entry;
    const now = this.#options.clock.now();
    if (value !== null && (failure === null || now - value.readAt < graceMs)) return value.secret;
    throw failure!.error;
  }

  #isSilent({ failure }: Entry): boolean {
    return failure !== null && this.#options.clock.now() < failure.until;
  }

  #entryOf(place: SecretPlace): Entry {
    const key = keyOf(place);
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry: Entry = { value: null, failure: null, reading: null };
    this.#entries.set(key, entry);
    if (this.#entries.size > valuesMax) this.#entries.delete(this.#entries.keys().next().value!);
    return entry;
  }

  /** Never rejects: how it ended stands in the entry. */
  #read(place: SecretPlace, entry: Entry): Promise<void> {
    entry.reading ??= this.#readInto(place, entry).finally(() => {
      entry.reading = null;
    });
    return entry.reading;
  }

  async #readInto(place: SecretPlace, entry: Entry): Promise<void> {
    const { managers, clock, onFailure } = this.#options;
    try {
      const kept = await managers.read(place);
      entry.value = { secret: kept, readAt: clock.now() };
      entry.failure = null;
    } catch (thrown) {
      const error =
        thrown instanceof SecretUnreadable
          ? thrown
          : new SecretUnreadable('it failed', true, { cause: thrown });
      entry.failure = { error, until: clock.now() + silentMs };
      // Whoever says no takes back what was given before.
      if (!error.isSilence) entry.value = null;
      onFailure(error, place);
    }
  }
}

function keyOf({ id, mark }: SecretPlace): string {
  return `${id} ${mark}`;
}
