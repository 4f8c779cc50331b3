/** Knows which credentials were refused, and counts them by where they came from. */
import { ApiError, type ErrorKind } from '../model/errors.ts';
import type { MinuteCounts } from './minute-counts.ts';

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
  /** Null where there is no audit log: then they are only told to `observe`. */
  readonly counts: MinuteCounts | null;
  /** Is told of each. */
  readonly observe: (refused: RefusedCredential, server: ShownAt['server']) => void;
}

/** As long as the longest address with its zone. */
const sourceCharsMax = 64;

export class RefusedCredentials {
  readonly #options: RefusedCredentialsOptions;

  constructor(options: RefusedCredentialsOptions) {
    this.#options = options;
  }

  record(refused: RefusedCredential, { server, remoteAddress }: ShownAt): void {
    const { counts, observe } = this.#options;
    observe(refused, server);
    const { credential, reason, subjectId } = refused;
    const source = addressOf(remoteAddress);
    counts?.add(refused, `${server} ${credential} ${reason} ${source} ${subjectId}`, () => ({
      ...{ server, credential, reason, source },
      ...(subjectId === null ? {} : { subject_id: subjectId }),
    }));
  }
}

/** One of version 4 is told alike, however the listener was opened. */
function addressOf(remoteAddress: string): string {
  const plain = remoteAddress.startsWith('::ffff:') ? remoteAddress.slice(7) : remoteAddress;
  return plain.slice(0, sourceCharsMax);
}
