/** Caches which protocol era each server speaks; concurrent requests share one probe. */
import type { EraEvidence } from '../messages/era-evidence.ts';

/** A server with its address. Its id stands for the credentials that it is called with. */
export interface ProbedServer {
  readonly id: string;
  readonly url: URL;
}

export type ServerEra = Pick<EraEvidence, 'era' | 'version'>;

interface KnownEra {
  readonly found: ServerEra;
  /** Whether a server of the modern era has refused a legacy request; others speak both eras. */
  refusesLegacy: boolean;
  /** Milliseconds since the epoch. */
  readonly endsAt: number;
}

export interface ServerErasOptions {
  /** Counts a finished probe. */
  readonly onProbe: (result: ServerEra['era'] | 'failed') => void;
}

/** A server that is updated is probed again within this time. */
const knownMs = 600_000;
const serversMax = 10_000;

/** Evicts the servers that were probed first. */
export class ServerEras {
  readonly #options: ServerErasOptions;
  readonly #known = new Map<string, KnownEra>();
  readonly #probing = new Map<string, Promise<ServerEra>>();

  constructor(options: ServerErasOptions) {
    this.#options = options;
  }

  /** Null for a server that must be probed. */
  peek(server: ProbedServer, now: number): ServerEra | null {
    const known = this.#known.get(keyOf(server));
    return known !== undefined && known.endsAt > now ? known.found : null;
  }

  /** Failures are not cached. @throws what `probe` throws */
  async find(
    server: ProbedServer,
    now: number,
    probe: () => Promise<ServerEra>,
  ): Promise<ServerEra> {
    const known = this.peek(server, now);
    if (known !== null) return known;
    const running = this.#probing.get(keyOf(server));
    if (running === undefined) return await this.#probe(server, now, probe);
    try {
      return await running;
    } catch {
      // The probe of another caller fails with its connection.
      return this.peek(server, now) ?? (await this.#probe(server, now, probe));
    }
  }

  /** Notes that the server refused a legacy request with an error of the modern era. */
  noteRefusal(server: ProbedServer): void {
    const known = this.#known.get(keyOf(server));
    if (known?.found.era === 'modern') known.refusesLegacy = true;
  }

  /** Whether legacy requests need not be tried. */
  refusesLegacy(server: ProbedServer, now: number): boolean {
    const known = this.#known.get(keyOf(server));
    return known !== undefined && known.endsAt > now && known.refusesLegacy;
  }

  /** Has the next request probe the server, because a request of the known era failed. */
  forget(server: ProbedServer): void {
    this.#known.delete(keyOf(server));
  }

  async #probe(
    server: ProbedServer,
    now: number,
    probe: () => Promise<ServerEra>,
  ): Promise<ServerEra> {
    const key = keyOf(server);
    const probing = probe();
    this.#probing.set(key, probing);
    try {
      const found = await probing;
      this.#known.delete(key);
      this.#known.set(key, { found, refusesLegacy: false, endsAt: now + knownMs });
      if (this.#known.size > serversMax) this.#known.delete(this.#known.keys().next().value!);
      this.#options.onProbe(found.era);
      return found;
    } catch (error) {
      this.#options.onProbe('failed');
      throw error;
    } finally {
      if (this.#probing.get(key) === probing) this.#probing.delete(key);
    }
  }
}

function keyOf({ id, url }: ProbedServer): string {
  return `${id} ${url.href}`;
}
