/** Tracks the streams that have no end of their own: has them follow changes, and ends them when their key or the process ends. */
import { detach } from '../../detached.ts';

/** A stream of notices to one caller. */
export interface OpenStream {
  readonly organisationId: string;
  /** When the caller's key ends, milliseconds since the epoch; null for never. */
  readonly endsAtMs: number | null;
  /** Reads the caller's rights and the server anew, and applies them; never rejects. */
  follow(): Promise<void>;
  end(): void;
}

/** How often the ends of keys are compared with the clock. */
const sweepMs = 500;
/** Streams that read their rights at the same time, which the database answers. */
const followersMax = 16;

export class OpenStreams {
  readonly #now: () => number;
  readonly #byOrganisation = new Map<string, Set<OpenStream>>();
  /** Organisations whose streams are following a change; true when another change has come meanwhile. */
  readonly #following = new Map<string, boolean>();
  #sweep: NodeJS.Timeout | null = null;

  /** `now` returns milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now;
  }

  get hasAny(): boolean {
    return this.#byOrganisation.size > 0;
  }

  /** Returns a function that forgets the stream. */
  add(stream: OpenStream): () => void {
    const { organisationId } = stream;
    const streams = this.#byOrganisation.get(organisationId) ?? new Set();
    this.#byOrganisation.set(organisationId, streams.add(stream));
    this.#sweep ??= setInterval(() => this.#endOld(), sweepMs).unref();
    return () => {
      streams.delete(stream);
      if (streams.size > 0 || this.#byOrganisation.get(organisationId) !== streams) return;
      this.#byOrganisation.delete(organisationId);
      if (this.#byOrganisation.size === 0) this.#stopSweep();
    };
  }

  /** Something of the organisation has changed: a key, a user, a server, or anything else. */
  noteChange(organisationId: string): void {
    if (!this.#byOrganisation.has(organisationId)) return;
    if (this.#following.has(organisationId)) {
      this.#following.set(organisationId, true);
      return;
    }
    detach('open MCP streams', this.#followAll(organisationId));
  }

  /** Clients connect again, to another replica, and resume where the server can. */
  endAll(): void {
    this.#stopSweep();
    const all = [...this.#byOrganisation.values()].flatMap((streams) => [...streams]);
    this.#byOrganisation.clear();
    for (const stream of all) stream.end();
  }

  async #followAll(organisationId: string): Promise<void> {
    try {
      do {
        this.#following.set(organisationId, false);
        const waiting = [...(this.#byOrganisation.get(organisationId) ?? [])].values();
        const follow = async (): Promise<void> => {
          for (const stream of waiting) await stream.follow();
        };
        await Promise.all(Array.from({ length: followersMax }, follow));
      } while (this.#following.get(organisationId) === true);
    } finally {
      this.#following.delete(organisationId);
    }
  }

  #endOld(): void {
    const now = this.#now();
    for (const streams of this.#byOrganisation.values()) {
      for (const stream of streams) {
        if (stream.endsAtMs !== null && stream.endsAtMs <= now) stream.end();
      }
    }
  }

  #stopSweep(): void {
    if (this.#sweep !== null) clearInterval(this.#sweep);
    this.#sweep = null;
  }
}
