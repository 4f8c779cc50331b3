/** Knows which credentials were refused, from where and how often, in a bounded memory, and has it written down once a minute. */
import { ApiError, type ErrorKind } from '../model/errors.ts';
import { newId } from '../model/ids.ts';
import { formatTimestamp } from '../model/timestamp.ts';

/** Kinds of what somebody is known by. */
type Credential =
  | 'api_key'
  | 'client_secret'
  | 'access_token'
  | 'session'
  | 'token'
  | 'sign_in'
  | 'logout_token'
  | 'link'
  | 'other';

/** A credential that was shown and is not good; nothing of its value. */
export interface RefusedCredential {
  readonly credential: Credential;
  /**
   * `unknown`: nobody's, or not as it should be. `not_accepted`: of a kind that the route does not take, or of
   * somebody who is not let in.
   */
  readonly reason: 'unknown' | 'expired' | 'inactive' | 'exhausted' | 'not_accepted';
  /** Whose it is, where that was looked up; null for nobody's. */
  readonly organisationId: string | null;
  /** In place of that, where finding it would make an answer take longer than others. */
  readonly tsgId: string | null;
  /** Id of the key, account, user or export that it is for, where that is known. */
  readonly subjectId: string | null;
}

/** Where it was shown: to which listener, and from which end of the connection. */
export interface ShownAt {
  readonly server: 'admin' | 'inference';
  readonly remoteAddress: string;
}

/** One row of the audit log; written again where the answer was lost, it is the same. */
export interface RefusedRow {
  readonly id: string;
  /** '' for what belongs to no organisation. */
  readonly organisationId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly changes: Record<string, unknown>;
}

/** The refusal that a caller is answered, with what is to be counted of it. */
export class CredentialRefused extends ApiError {
  readonly refused: RefusedCredential;

  constructor(refused: Refusal, kind: ErrorKind = 'unauthorized', options?: ErrorOptions) {
    super(kind, undefined, '', options);
    this.refused = refusalOf(refused);
  }
}

/** Left out is what is not known. */
type Refusal = Pick<RefusedCredential, 'credential' | 'reason'> & Partial<RefusedCredential>;

export function refusalOf(refused: Refusal): RefusedCredential {
  return { organisationId: null, tsgId: null, subjectId: null, ...refused };
}

export interface RefusedCredentialsOptions {
  /** False where there is no audit log: then they are only told to `observe`. */
  readonly isKept: boolean;
  /** The organisation of a tenant; undefined where there is none. @throws where that cannot be known now */
  readonly findOrganisation: (tsgId: string) => Promise<string | undefined>;
  /** @throws where it cannot be written now, or nobody knows whether it was */
  readonly write: (row: RefusedRow) => Promise<void>;
  /** Rows that have to wait for the next minute. */
  readonly onFailure: (error: unknown) => void;
  /** Is told of each. */
  readonly observe: (refused: RefusedCredential, server: ShownAt['server']) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** What is counted apart, of each organisation; the rest is one figure. */
const sourcesMax = 100;
/** Beyond these, what is refused counts as nobody's. */
const organisationsMax = 1_000;
const everyMs = 60_000;
/** As long as the longest address with its zone. */
const sourceCharsMax = 64;

interface Source {
  readonly server: string;
  readonly credential: string;
  readonly reason: string;
  readonly source: string;
  readonly subject_id?: string;
  failures: number;
}

interface Counts {
  readonly organisationId: string;
  /** Still to be looked for; null where it is known. */
  readonly tsgId: string | null;
  since: number;
  failures: number;
  readonly sources: Map<string, Source>;
}

/** {@link record} takes what happened and costs no more than a look; {@link close} writes what is left. */
export class RefusedCredentials {
  readonly #options: RefusedCredentialsOptions;
  /** By organisation or tenant. */
  readonly #counts = new Map<string, Counts>();
  /** Taken to be written; nothing else is taken before they are. */
  #rows: RefusedRow[] = [];
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: RefusedCredentialsOptions) {
    this.#options = options;
  }

  record(refused: RefusedCredential, { server, remoteAddress }: ShownAt): void {
    this.#options.observe(refused, server);
    if (!this.#options.isKept) return;
    const { credential, reason, subjectId } = refused;
    const { organisationId, tsgId } = refused;
    const counts = this.#countsOf(organisationId ?? '', organisationId === null ? tsgId : null);
    counts.failures += 1;
    const source = addressOf(remoteAddress);
    const name = `${server} ${credential} ${reason} ${source} ${subjectId}`;
    const known = counts.sources.get(name);
    if (known !== undefined) known.failures += 1;
    else if (counts.sources.size < sourcesMax) {
      const subject = subjectId === null ? {} : { subject_id: subjectId };
      counts.sources.set(name, { server, credential, reason, source, ...subject, failures: 1 });
    }
    this.#setTimer();
  }

  /** Writes what was counted. Where that fails it goes on counting, and the next minute tries again. */
  flush(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  /** What cannot be written within this time is lost. */
  async close(withinMs: number): Promise<void> {
    const { promise: isLate, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, withinMs);
    // What came while an earlier writing was under way is taken by the second.
    await Promise.race([this.flush().then(() => this.flush()), isLate]);
    clearTimeout(timer);
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #write(): Promise<void> {
    try {
      if (this.#rows.length === 0) {
        await this.#findOrganisations();
        this.#rows = this.#take();
      }
      for (let row = this.#rows[0]; row !== undefined; row = this.#rows[0]) {
        await this.#options.write(row);
        this.#rows.shift();
      }
    } catch (error) {
      this.#options.onFailure(error);
      this.#setTimer();
    }
  }

  async #findOrganisations(): Promise<void> {
    for (const [name, { tsgId }] of [...this.#counts]) {
      if (tsgId === null) continue;
      const organisationId = (await this.#options.findOrganisation(tsgId)) ?? '';
      const counts = this.#counts.get(name)!;
      this.#counts.delete(name);
      const own = this.#countsOf(organisationId, null);
      own.since = Math.min(own.since, counts.since);
      own.failures += counts.failures;
      for (const [source, told] of counts.sources) {
        const known = own.sources.get(source);
        if (known !== undefined) known.failures += told.failures;
        else if (own.sources.size < sourcesMax) own.sources.set(source, told);
      }
    }
  }

  /** Those of tenants that were looked for. */
  #take(): RefusedRow[] {
    const at = this.#options.now();
    const taken = [...this.#counts].filter(([, { tsgId }]) => tsgId === null);
    for (const [name] of taken) this.#counts.delete(name);
    return taken.map(([, { organisationId, since, failures, sources }]) => {
      const told = [...sources.values()];
      const elsewhere = told.reduce((left, one) => left - one.failures, failures);
      const range = { since: formatTimestamp(since), until: formatTimestamp(at) };
      const changes = { ...range, failures, sources: told, elsewhere };
      return { id: newId(), organisationId, at, changes };
    });
  }

  #countsOf(organisationId: string, tsgId: string | null): Counts {
    const name = tsgId ?? organisationId;
    const known = this.#counts.get(name);
    if (known !== undefined) return known;
    const isTooMany = this.#counts.size >= organisationsMax && name !== '';
    if (isTooMany) return this.#countsOf('', null);
    const since = this.#options.now();
    const counts: Counts = { organisationId, tsgId, since, failures: 0, sources: new Map() };
    this.#counts.set(name, counts);
    return counts;
  }

  #setTimer(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      void this.flush().then(() => {
        if (this.#counts.size > 0) this.#setTimer();
      });
    }, everyMs).unref();
  }
}

/** One of version 4 is told alike, however the listener was opened. */
function addressOf(remoteAddress: string): string {
  const plain = remoteAddress.startsWith('::ffff:') ? remoteAddress.slice(7) : remoteAddress;
  return plain.slice(0, sourceCharsMax);
}
