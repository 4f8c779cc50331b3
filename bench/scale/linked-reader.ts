/** Simulates one linked gateway that follows the snapshot, with the origin of the product. */
import { LinkedOrigin } from '../../src/control-link/linked-origin.ts';
import { DatabaseUnavailable } from '../../src/store/connection/unavailable.ts';
import type { SimulatedControlPlane } from './control-plane.ts';
import { bytesPerMs } from './deployment.ts';
import type { HeldSnapshot } from './held-snapshot.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** As in src/snapshot/open-snapshot.ts, after a failure and while changes are pending. */
const [failedMs, pendingMs] = [1_000, 200];
/** How long a request into a cut network waits for an answer. */
const lostMs = 30_000;

export interface ReaderFigures {
  /** Bytes of answers. */
  bytes: number;
  /** Heads that were taken over. */
  updates: number;
}

export interface LinkedReaderParts {
  readonly clock: VirtualClock;
  readonly control: SimulatedControlPlane;
  readonly figures: ReaderFigures;
  readonly replica: number;
  readonly roundTripMs: number;
  /** Whether the network to the control plane is cut. */
  readonly isCut: () => boolean;
  /** Changes of these times are in force from now on, of a snapshot that was built at a time. */
  readonly onUpdate: (changedAtMs: readonly number[], builtAtMs: number) => void;
}

export class LinkedReader {
  readonly #parts: LinkedReaderParts;
  readonly #origin: LinkedOrigin;
  #held: HeldSnapshot;

  constructor(parts: LinkedReaderParts, first: HeldSnapshot) {
    this.#parts = parts;
    this.#held = first;
    this.#origin = new LinkedOrigin({ read: (path, message) => this.#request(path, message) });
  }

  /** Follows the snapshot for ever. */
  async run(): Promise<void> {
    const { clock } = this.#parts;
    for (;;) {
      try {
        if (await this.#pull()) await clock.sleep(pendingMs);
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) throw error;
        await clock.sleep(failedMs);
      }
    }
  }

  /** Returns whether changes are pending. */
  async #pull(): Promise<boolean> {
    const { sealedHead, hasPending } = await this.#origin.readState(this.#held.etag);
    if (sealedHead === null) return hasPending;
    const { figures, onUpdate } = this.#parts;
    const { next, requests, changedAtMs } = await this.#held.step(sealedHead);
    for (const addresses of requests) {
      const objects = await this.#origin.readObjects(addresses);
      if (objects.size < addresses.length) throw new Error('an object of the snapshot is missing');
    }
    this.#held = next;
    figures.updates += 1;
    onUpdate(changedAtMs, next.head.builtAtMs);
    return hasPending;
  }

  async #request(path: string, message: unknown): Promise<Buffer> {
    const { clock, control, replica, roundTripMs, isCut, figures } = this.#parts;
    await clock.sleep(roundTripMs / 2);
    if (isCut()) return this.#lose();
    const answer = await control.answer(replica, path, message);
    await clock.sleep(roundTripMs / 2 + answer.length / bytesPerMs);
    if (isCut()) return this.#lose();
    figures.bytes += answer.length;
    return answer;
  }

  async #lose(): Promise<never> {
    await this.#parts.clock.sleep(lostMs);
    throw new DatabaseUnavailable('The simulated network is cut');
  }
}
