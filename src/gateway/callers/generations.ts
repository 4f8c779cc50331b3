/** Knows in which generation the resources of each organisation are, looked up a few times a second for all at once. */
import { monotonicMs } from '../../monotonic.ts';

export interface GenerationsOptions {
  /** What is current for each of these organisations. */
  readonly load: (organisationIds: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  readonly pollMs: number;
  /** How long what is known may be relied on while no look succeeds, ms. */
  readonly graceMs: number;
  /** A look that failed. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * What is read from the database is good for as long as the generation is current in which it was
 * read, and a look has confirmed that within the grace. Whoever changes anything makes another
 * generation, in the same transaction (store/rows/snapshot-marks.ts).
 */
export class Generations {
  readonly #options: GenerationsOptions;
  readonly #current = new Map<string, string>();
  /** By the monotonic clock: when the last look began that succeeded. */
  #confirmedAtMs = monotonicMs();
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;
  #look: Promise<void> | null = null;

  constructor(options: GenerationsOptions) {
    this.#options = options;
  }

  /** Whether what was read in this generation is what the database holds, as far as anybody can know. */
  isCurrent(organisationId: string, generation: string): boolean {
    return this.#current.get(organisationId) === generation;
  }

  /** Whether anything was read that is good for now, even if no look succeeds. */
  isHolding(): boolean {
    return this.#current.size > 0 && this.isWithinGrace();
  }

  /** Whether a look has succeeded within the grace. */
  isWithinGrace(): boolean {
    return monotonicMs() - this.#confirmedAtMs <= this.#options.graceMs;
  }

  /** What a read has seen; from now on the organisation is looked after. */
  note(organisationId: string, generation: string): void {
    this.#current.set(organisationId, generation);
    if (this.#timer === null && !this.#isClosed) {
      this.#confirmedAtMs = monotonicMs();
      this.#wait();
    }
  }

  /** Looks now, or waits for the look that is under way. */
  refresh(): Promise<void> {
    this.#look ??= this.#lookUp().finally(() => {
      this.#look = null;
    });
    return this.#look;
  }

  /** Waits for a look under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#look;
  }

  #wait(): void {
    this.#timer = setTimeout(() => {
      void this.refresh().then(() => {
        if (!this.#isClosed) this.#wait();
      });
    }, this.#options.pollMs).unref();
  }

  async #lookUp(): Promise<void> {
    const beganAtMs = monotonicMs();
    try {
      const found = await this.#options.load([...this.#current.keys()]);
      for (const [organisationId, generation] of found) {
        this.#current.set(organisationId, generation);
      }
      this.#confirmedAtMs = beganAtMs;
    } catch (error) {
      this.#options.onFailure(error);
    }
  }
}
