/** Counts refused credentials by source and reason. */
import { ApiError, type ErrorKind } from '../model/wire/errors.ts';
import type { MinuteCounts } from './minute-counts.ts';

type Credential =
  | 'api_key'
  | 'client_secret'
  | 'access_token'
  | 'session'
  | 'token'
  | 'sign_in'
  | 'sign_in_link'
  | 'logout_token'
  | 'link'
  | 'other';

/** A credential that was refused; contains nothing of its value. */
export interface RefusedCredential {
  readonly credential: Credential;
  /**
   * `unknown`: not issued here, or malformed. `not_accepted`: of a kind that the route does not accept, or
   * of a user who may not sign in.
   */
  readonly reason: 'unknown' | 'expired' | 'inactive' | 'exhausted' | 'not_accepted';
  /** Organisation of the credential, if it was looked up; otherwise null. */
  readonly organisationId: string | null;
  /** Set instead of `organisationId` when looking that up would make the response measurably slower. */
  readonly tsgId: string | null;
  /** Id of the key, account, user or export, if known. */
  readonly subjectId: string | null;
}

/** Listener and peer address of the request. */
export interface CredentialOrigin {
  readonly server: 'admin' | 'inference' | 'mcp';
  readonly remoteAddress: string;
}

/** The refusal sent to the caller together with the details to count. */
export class CredentialRefused extends ApiError {
  readonly refused: RefusedCredential;

  constructor(refused: Refusal, kind: ErrorKind = 'unauthorized', options?: ErrorOptions) {
    super(kind, undefined, '', options);
    this.refused = toRefusedCredential(refused);
  }
}

/** Fields that are left out are unknown. */
type Refusal = Pick<RefusedCredential, 'credential' | 'reason'> & Partial<RefusedCredential>;

export function toRefusedCredential(refused: Refusal): RefusedCredential {
  return { organisationId: null, tsgId: null, subjectId: null, ...refused };
}

export interface RefusedCredentialsOptions {
  /** Null without an audit log: refusals are then only reported to `observe`. */
  readonly counts: MinuteCounts | null;
  /** Called for each refusal. */
  readonly observe: (refused: RefusedCredential, server: CredentialOrigin['server']) => void;
}

/** Length of the longest IP address with its zone. */
const sourceCharsMax = 64;

export class RefusedCredentials {
  readonly #options: RefusedCredentialsOptions;

  constructor(options: RefusedCredentialsOptions) {
    this.#options = options;
  }

  record(refused: RefusedCredential, { server, remoteAddress }: CredentialOrigin): void {
    const { counts, observe } = this.#options;
    observe(refused, server);
    const { credential, reason, subjectId } = refused;
    const source = normaliseAddress(remoteAddress);
    counts?.add(refused, `${server} ${credential} ${reason} ${source} ${subjectId}`, () => ({
      server,
      credential,
      reason,
      source,
      ...(subjectId === null ? {} : { subject_id: subjectId }),
    }));
  }
}

/** Writes an IPv4 address the same way whether the listener uses IPv4 or IPv6. */
function normaliseAddress(remoteAddress: string): string {
  const plain = remoteAddress.startsWith('::ffff:') ? remoteAddress.slice(7) : remoteAddress;
  return plain.slice(0, sourceCharsMax);
}
