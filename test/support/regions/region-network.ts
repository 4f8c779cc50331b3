/** Connects gateways, regions and their home in one process, by links that lose what the test says. */
import { bankRoutes } from '../../../src/control-link/bank-routes.ts';
import { LinkedBank } from '../../../src/control-link/linked-bank.ts';
import { CountedSlices, Reservations, Shortage } from '../../../src/ledger/account.ts';
import { DatabaseBank } from '../../../src/ledger/database-bank.ts';
import type { Limit } from '../../../src/ledger/limit.ts';
import type { LimitBank } from '../../../src/ledger/limit-bank.ts';
import { OrganisationSlices } from '../../../src/ledger/organisation-slices.ts';
import { Borrower } from '../../../src/ledger/regions/borrower.ts';
import { RegionBank } from '../../../src/ledger/regions/region-bank.ts';
import {
  DatabaseUnavailable,
  isUnavailable,
  OutcomeUnknown,
} from '../../../src/store/connection/unavailable.ts';
import type { TestDatabase } from '../database/database.ts';
import { recallWanted } from '../ledger/recall-wanted.ts';

/** How a request fails: refused, lost before it was carried out, or after it. */
export type LinkFault = 'refused' | 'lostBefore' | 'lostAfter';

/** A link that is whole unless the test cuts it or names faults of the next requests. */
class Link {
  isCut = false;
  next: LinkFault[] = [];

  async run<T>(carryOut: () => Promise<T>): Promise<T> {
    const fault = this.isCut ? 'refused' : this.next.shift();
    if (fault === 'refused') throw new DatabaseUnavailable('refused');
    if (fault === 'lostBefore') throw lost();
    const result = await carryOut();
    if (fault === 'lostAfter') throw lost();
    return result;
  }

  mend(): void {
    this.isCut = false;
    this.next = [];
  }
}

const lost = () => new OutcomeUnknown(new Error('the answer was lost'));

/** The bank behind a link, with messages as they are on the wire. */
function linkedBank(bank: LimitBank, link: Link): LinkedBank {
  const routes = bankRoutes(bank);
  const post = (path: string, message: unknown) =>
    link.run(async () => {
      const route = routes.find((one) => one.path === path)!;
      const body = route.body!.parse(JSON.parse(JSON.stringify(message)));
      const answer = await route.handle({ body } as Parameters<typeof route.handle>[0]);
      return JSON.parse(JSON.stringify(answer));
    });
  return new LinkedBank({ post });
}

/** One replica of a region, which remembers nothing of the others. */
interface Replica {
  readonly bank: RegionBank;
  readonly borrower: Borrower;
}

export class Region {
  /** To home. */
  readonly link = new Link();
  readonly #test: Pick<TestDatabase, 'database'>;
  readonly #home: LimitBank;
  #replicas: Replica[] = [];

  constructor(test: Pick<TestDatabase, 'database'>, home: Pick<TestDatabase, 'database'>) {
    this.#test = test;
    this.#home = linkedBank(new DatabaseBank({ database: home.database, now: () => 0 }), this.link);
    this.replace();
  }

  /** Ends both replicas and starts others. */
  replace(): void {
    this.#replicas = [this.#open(), this.#open()];
  }

  replica(at: number): Replica {
    return this.#replicas[at]!;
  }

  /** Does what the region does by itself. */
  async turn(organisationId: string, at = 0): Promise<void> {
    const { borrower } = this.replica(at);
    await borrower.exchangeDue(organisationId);
    await borrower.recallWanted(organisationId).catch(requireLost);
  }

  #open(): Replica {
    const { database } = this.#test;
    const patience = { resendMs: 0, retryMs: 0, waitMs: 5_000 };
    const onAway = requireLost;
    const borrower = new Borrower({ database, home: this.#home, onAway, patience });
    return { borrower, bank: new RegionBank({ database, borrower, now: () => 0 }) };
  }
}

/** A gateway of a region whose time passes with each exchange. */
export class RegionGateway {
  #nowMs = 0;
  /** To the region. */
  readonly link = new Link();
  /** The replica that serves the next requests. */
  replica = 0;
  used = 0;
  readonly #bank: LimitBank;
  readonly #slices: OrganisationSlices;
  readonly #limit: Limit;

  constructor(limit: Limit, region: Region) {
    this.#limit = limit;
    const current = (): LimitBank => linkedBank(region.replica(this.replica).bank, this.link);
    this.#bank = {
      exchange: (request) => current().exchange(request),
      listWanted: (holders) => current().listWanted(holders),
      settle: (...both) => current().settle(...both),
      close: (holder) => current().close(holder),
    };
    const clock = { now: () => 0, monotonicMs: () => this.#nowMs };
    this.#slices = new OrganisationSlices(
      { bank: this.#bank, journal: null, clock },
      limit.organisationId,
    );
  }

  /** Sends a request, which is refused unless units arrive within some exchanges. Returns whether it was admitted. */
  async ask(reserved: number, used: number, tries = 2): Promise<boolean> {
    const reservations = new Reservations(new CountedSlices());
    const charges = [{ limit: this.#limit, slice: this.#slices.slice(this.#limit) }];
    const bound = {
      inputTokens: reserved,
      likelyInputTokens: reserved,
      outputTokens: 0,
      outputTokensMin: 0,
      price: null,
    };
    for (let count = 0; ; count += 1) {
      // Past the time for which known usage is trusted.
      this.#nowMs += 400;
      const result = reservations.reserve(charges, bound, this.#nowMs, false);
      if (!(result instanceof Shortage)) break;
      if (count === tries) return false;
      for (const [slice, need] of result.needs) slice.needs.add(need);
      await this.exchange();
      for (const [slice, need] of result.needs) slice.needs.delete(need);
    }
    const none = { outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, costUnits: 0 };
    reservations.settle({ inputTokens: used, ...none });
    this.used += used;
    return true;
  }

  async exchange(): Promise<void> {
    this.#nowMs += 100;
    await this.#slices.exchange(this.#nowMs, true).catch(requireLost);
  }

  async recallWanted(): Promise<void> {
    await recallWanted(this.#bank, this.#slices).catch(requireLost);
  }

  async stop(): Promise<void> {
    this.link.mend();
    await this.#slices.close();
  }
}

/** @throws what is no failure of a link */
function requireLost(error: unknown): void {
  if (!(error instanceof OutcomeUnknown) && !isUnavailable(error)) throw error;
}
