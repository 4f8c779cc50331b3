/** Polls the current generation of the resources of each organisation, with one query for all. */
import { detach } from '../../detached.ts';
import { monotonicMs } from '../../monotonic.ts';
import type { ConfigurationSource } from '../../store/reads/configuration-source.ts';

export interface GenerationsOptions {
  /** Reads current generations, of all held organisations or of those that may have changed. */
  readonly load: (held: ReadonlyMap<string, string>) => Promise<ReadonlyMap<string, string>>;
  /** Interval of polls while values are used, from start to start. */
  readonly pollMs: number;
  /** The same while no value is used. */
  readonly idlePollMs: number;
  /** Milliseconds that cached values may be used while no poll succeeds. */
  readonly graceMs: number;
  /** Reports a failed poll. */
  readonly onFailure: (error: unknown) => void;
  /** Whether a client waits for changes, for which polls are as frequent as while values are used. */
  readonly isAwaited?: () => boolean;
  /** Called when the generation of an organisation has changed. */
  readonly onChange: (organisationId: string) => void;
  readonly configuration: Pick<
    ConfigurationSource,
    'isDatabaseAway' | 'suspectDatabase' | 'hasSnapshot' | 'snapshotGeneration'
  >;
}

/** A poll that takes longer lets the database be probed. */
const patienceMs = 1_000;
/** Shortest pause between two polls, however long they take. */
const pauseMsMin = 50;

/**
 * A value is valid while the generation in which it was read is current, and a poll has confirmed that
 * within the grace period. Every change creates a new generation in the same transaction (store/rows/snapshot-marks.ts).
 * In an outage, a value is also valid in the generation of the sealed snapshot, and with a snapshot of its organisation
 * the grace period has no end.
 */
export class Generations {
  readonly #options: GenerationsOptions;
  readonly #current = new Map<string, string>();
  /** Start of the last successful poll, monotonic clock. */
  #confirmedAtMs = monotonicMs();
  #hasFailed = false;
  /** Start of the last poll, monotonic clock. */
  #polledAtMs = monotonicMs();
  /** Whether a value was used since the last poll, or a change was found by it. */
  #isBusy = false;
  /** Whether the next poll waits as without use. */
  #waitsLong = false;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;
  #poll: Promise<void> | null = null;

  constructor(options: GenerationsOptions) {
    this.#options = options;
  }

  /** Whether a value that was read in the generation may be used now. */
  isValid(organisationId: string, generation: string): boolean {
    this.#isBusy = true;
    if (this.#waitsLong) this.#hurry();
    const isCurrent = this.#current.get(organisationId) === generation;
    if (isCurrent && this.isWithinGrace()) return true;
    if (!this.isInOutage()) return false;
    const held = this.#options.configuration.snapshotGeneration(organisationId);
    return held !== undefined && (isCurrent || held === generation);
  }

  /** Whether the sealed snapshot contains the generation that replaced this one, and with it the end of removed values. */
  isReplaced(organisationId: string, generation: string): boolean {
    const current = this.#current.get(organisationId);
    if (current === undefined || current === generation) return false;
    return this.#options.configuration.snapshotGeneration(organisationId) === current;
  }

  /** Whether the database did not respond to the last poll, or is known not to respond. */
  isInOutage(): boolean {
    return this.#hasFailed || this.#options.configuration.isDatabaseAway();
  }

  /** Whether values exist that may be used even if polls fail. */
  isHolding(): boolean {
    const { configuration } = this.#options;
    return configuration.hasSnapshot() || (this.#current.size > 0 && this.isWithinGrace());
  }

  /** Whether a poll has succeeded within the grace period. */
  isWithinGrace(): boolean {
    return monotonicMs() - this.#confirmedAtMs <= this.#options.graceMs;
  }

  /** Time since the last successful poll. */
  get ageMs(): number {
    return monotonicMs() - this.#confirmedAtMs;
  }

  /** Notes the generation of a read, and polls the organisation from now on. */
  note(organisationId: string, generation: string): void {
    // A snapshot may be older than what the last poll found.
    const isOlder = this.#current.has(organisationId) && this.isInOutage();
    if (!isOlder) this.#set(organisationId, generation);
    this.start();
  }

  /** Polls from now on. */
  start(): void {
    if (this.#timer !== null || this.#isClosed) return;
    this.#confirmedAtMs = monotonicMs();
    this.#wait();
  }

  /** Polls now, or waits for the running poll. */
  refresh(): Promise<void> {
    this.#poll ??= this.#readAll().finally(() => {
      this.#poll = null;
    });
    return this.#poll;
  }

  /** Stops polling and waits for the running poll. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#poll;
  }

  #set(organisationId: string, generation: string): void {
    const before = this.#current.get(organisationId);
    this.#current.set(organisationId, generation);
    if (before === undefined || before === generation) return;
    // Others often follow.
    this.#isBusy = true;
    this.#options.onChange(organisationId);
  }

  /** The next poll does not wait for as long as without use. */
  #hurry(): void {
    if (this.#timer === null || this.#poll !== null || this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#waitsLong = false;
    this.#setTimer(this.#options.pollMs);
  }

  #wait(): void {
    const { pollMs, idlePollMs, isAwaited } = this.#options;
    const isBusy = this.#isBusy || isAwaited?.() === true;
    const periodMs = isBusy ? pollMs : idlePollMs;
    this.#waitsLong = !isBusy;
    this.#isBusy = false;
    this.#setTimer(periodMs);
  }

  #setTimer(periodMs: number): void {
    const pauseMs = Math.max(pauseMsMin, this.#polledAtMs + periodMs - monotonicMs());
    this.#timer = setTimeout(() => {
      const refreshed = this.refresh().finally(() => {
        if (!this.#isClosed) this.#wait();
      });
      detach('the poll for changes', refreshed);
    }, pauseMs).unref();
  }

  async #readAll(): Promise<void> {
    const beganAtMs = monotonicMs();
    this.#polledAtMs = beganAtMs;
    const late = setTimeout(this.#options.configuration.suspectDatabase, patienceMs).unref();
    try {
      const generations = await this.#options.load(this.#current);
      for (const [organisationId, generation] of generations) {
        this.#set(organisationId, generation);
      }
      this.#confirmedAtMs = beganAtMs;
      this.#hasFailed = false;
    } catch (error) {
      this.#hasFailed = true;
      this.#options.onFailure(error);
    } finally {
      clearTimeout(late);
    }
  }
}
