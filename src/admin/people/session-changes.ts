/** Opens sessions of users in the transaction of a sign-in. */
import type { Principal } from '../../auth/principal.ts';
import { makeSession } from '../../auth/sessions.ts';
import { newId } from '../../model/wire/ids.ts';
import type { Db } from '../../store/connection/db.ts';
import * as userSessions from '../../store/people/user-sessions.ts';
import type * as users from '../../store/people/users.ts';
import type { StoredOrganisation } from '../../store/resources/organisations.ts';
import { type Author, auditChange } from '../request/change.ts';
import type { AdminDeps } from '../request/deps.ts';

interface NewSession {
  readonly user: users.StoredUser;
  /** Account of the identity provider; null for a sign-in without one. */
  readonly account: { readonly subjectHash: Buffer; readonly sessionHash: Buffer | null } | null;
  /** Further facts for the audit row. */
  readonly facts: Readonly<Record<string, string>>;
}

interface OpenedSession {
  readonly id: string;
  /** Value of the header `set-cookie`. */
  readonly cookie: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Inserts the session of a user and its audit row. */
export async function insertSession(
  tx: Db,
  deps: Pick<AdminDeps, 'audit' | 'keyring' | 'sessions'>,
  author: Author,
  { user, account, facts }: NewSession,
): Promise<OpenedSession> {
  const { sessionMs } = deps.sessions!;
  const { now } = author;
  const [id, expiresAt] = [newId(), now + sessionMs];
  const place = { organisationId: user.organisation_id, id };
  const { tokenHmac, cookie } = makeSession(deps.keyring, place, sessionMs);
  await userSessions.insert(tx, {
    organisation_id: user.organisation_id,
    id,
    user_id: user.id,
    token_hmac: tokenHmac,
    subject_hash: account?.subjectHash ?? null,
    provider_session_hash: account?.sessionHash ?? null,
    created_at: now,
    last_used_at: now,
    expires_at: expiresAt,
  });
  const entry = { kind: 'UserSession', resourceId: id, workspaceId: null } as const;
  const changes = { user: user.id, ...facts };
  await auditChange(tx, deps, author, { action: 'create', ...entry, changes });
  return { id, cookie, expiresAt };
}

/** The user is the author of the changes that follow from signing in. */
export function authorOf(
  organisation: Pick<StoredOrganisation, 'id' | 'tsg_id'>,
  user: users.StoredUser,
  { requestId, now }: Pick<Author, 'requestId' | 'now'>,
): Author {
  const caller: Principal = {
    kind: 'user',
    id: user.id,
    name: user.email,
    organisationId: organisation.id,
    tsgId: organisation.tsg_id,
    workspaceId: null,
    scopes: [],
    person: { userId: user.id, sessionId: null, actsForOthers: false },
  };
  return { caller, owner: null, fence: null, requestId, now };
}
