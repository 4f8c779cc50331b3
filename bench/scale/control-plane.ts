/** Simulates the control plane of linked gateways: replicas that share reads of the state, and one builder. */
import { z } from 'zod';
import { linkPaths } from '../../src/control-link/link-paths.ts';
import { SharedObjects } from '../../src/control-link/shared-objects.ts';
import {
  joinObjects,
  ObjectsRequest,
  StateAnswer,
  StateRequest,
} from '../../src/control-link/snapshot-messages.ts';
import type { ObjectAddress } from '../../src/snapshot/reading/read-update.ts';
import type { OriginState } from '../../src/snapshot/reading/snapshot-origin.ts';
import type { Change, PublishedSnapshot } from './published-snapshot.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** As in src/control-link/snapshot-routes.ts. */
const [waitMs, lookMs] = [5_000, 250];
/** As in src/snapshot/open-snapshot.ts. */
const build = { idleMs: 1_150, activeMs: 200, activeForMs: 5_000 };
const sharedBytesMax = 64 * 1024 * 1024;
/** Statements of one step of the builder without changes, and with some, whatever their number. */
const statements = { idle: 1, step: 40 };

interface SharedRead {
  readonly state: OriginState;
  /** As it is sent. */
  readonly answer: Buffer;
  readonly untilMs: number;
}

export interface ControlPlaneFigures {
  /** Statements of the database by what they serve. */
  stateReads: number;
  objectReads: number;
  builds: number;
  /** Requests of gateways. */
  requests: number;
}

export class SimulatedControlPlane {
  readonly figures: ControlPlaneFigures = { stateReads: 0, objectReads: 0, builds: 0, requests: 0 };
  readonly #clock: VirtualClock;
  readonly #snapshot: PublishedSnapshot;
  readonly #shared: Map<string, SharedRead>[];
  readonly #objects: SharedObjects[];
  readonly #waiting: Change[] = [];

  constructor(clock: VirtualClock, snapshot: PublishedSnapshot, replicas: number) {
    this.#clock = clock;
    this.#snapshot = snapshot;
    this.#shared = Array.from({ length: replicas }, () => new Map());
    const readObjects = async (addresses: readonly ObjectAddress[]) => {
      this.figures.objectReads += 1;
      return new Map(addresses.map(({ etag }) => [etag, snapshot.objects.get(etag)!]));
    };
    this.#objects = Array.from(
      { length: replicas },
      () => new SharedObjects({ readObjects }, sharedBytesMax),
    );
  }

  /** Commits a change of an organisation, which the builder finds at its next step. */
  change(organisation: number): void {
    this.#waiting.push({ organisation, changedAtMs: this.#clock.nowMs });
  }

  async runBuilder(): Promise<void> {
    let builtAtMs = Number.NEGATIVE_INFINITY;
    for (;;) {
      this.figures.builds += statements.idle;
      if (this.#waiting.length > 0) {
        this.figures.builds += statements.step;
        this.#snapshot.publish(this.#waiting.splice(0), this.#clock.nowMs);
        builtAtMs = this.#clock.nowMs;
      }
      const isActive = this.#clock.nowMs - builtAtMs < build.activeForMs;
      await this.#clock.sleep(isActive ? build.activeMs : build.idleMs);
    }
  }

  /** Answers a request of a gateway, which reaches this replica now. */
  async answer(replica: number, path: string, message: unknown): Promise<Buffer> {
    this.figures.requests += 1;
    if (path === linkPaths.snapshotState) {
      const { known } = StateRequest.parse(message);
      return (await this.#waitFor(replica, known)).answer;
    }
    const { addresses } = ObjectsRequest.parse(message);
    return joinObjects(await this.#objects[replica]!.read(addresses));
  }

  async #waitFor(replica: number, known: Buffer | null): Promise<SharedRead> {
    const endMs = this.#clock.nowMs + waitMs;
    for (;;) {
      const read = this.#read(replica, known);
      const hasNews = read.state.sealedHead !== null || read.state.hasPending;
      if (hasNews || known === null || this.#clock.nowMs >= endMs) return read;
      await this.#clock.sleep(lookMs);
    }
  }

  #read(replica: number, known: Buffer | null): SharedRead {
    const shared = this.#shared[replica]!;
    const key = known?.toString('base64') ?? '';
    const found = shared.get(key);
    const { nowMs } = this.#clock;
    if (found !== undefined && found.untilMs > nowMs) return found;
    this.figures.stateReads += 1;
    const { etag, sealedHead } = this.#snapshot;
    const state: OriginState = {
      exists: true,
      sealedHead: known?.equals(etag) ? null : sealedHead,
      hasPending: this.#waiting.length > 0,
      confirmedAtMs: Math.floor(nowMs),
    };
    const answer = Buffer.from(JSON.stringify(z.encode(StateAnswer, state)));
    const read = { state, answer, untilMs: nowMs + lookMs };
    shared.set(key, read);
    return read;
  }
}
