/**
 * Maps a proven identity to a user, applies roles and groups of the identity provider, and opens the
 * session.
 */
import type { ProvenIdentity } from '../../auth/identity-provider.ts';
import { claimTexts } from '../../auth/identity-provider.ts';
import { type AssignedRole, emailKey } from '../../model/people/person.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { newId } from '../../model/wire/ids.ts';
import { isAutoProvisioned } from '../../model/workspaces/organisation.ts';
import type { Db } from '../../store/connection/db.ts';
import * as userIdentities from '../../store/people/user-identities.ts';
import * as userInvites from '../../store/people/user-invites.ts';
import * as users from '../../store/people/users.ts';
import type { StoredOrganisation } from '../../store/resources/organisations.ts';
import { isDuplicateEntry } from '../../store/rows/duplicate.ts';
import { type Author, auditChange } from '../request/change.ts';
import type { AdminDeps, SignIn } from '../request/deps.ts';
import { acceptInvite } from './invite-acceptance.ts';
import { authorOf, insertSession } from './session-changes.ts';
import { applyGroups } from './sign-in-groups.ts';

type Settings = SignIn['settings'];

interface SignInContext {
  readonly organisation: StoredOrganisation;
  readonly identity: ProvenIdentity;
  readonly request: Pick<Author, 'requestId' | 'now'>;
}

/**
 * Returns the session cookie. @throws ApiError `forbidden` for an unknown user, or one who may not sign in
 */
export async function openUserSession(
  deps: AdminDeps,
  settings: Settings,
  signIn: SignInContext,
): Promise<string> {
  const admit = () => deps.database.transaction((tx) => openSessionIn(tx, deps, settings, signIn));
  try {
    return await admit();
  } catch (error) {
    if (!isDuplicateEntry(error)) throw error;
  }
  // A concurrent sign-in has created or bound the same user; the second attempt finds it.
  try {
    return await admit();
  } catch (error) {
    if (!isDuplicateEntry(error)) throw error;
    throw new ApiError(
      'forbidden',
      'Your address belongs to another account of the identity provider',
    );
  }
}

async function openSessionIn(
  tx: Db,
  deps: AdminDeps,
  settings: Settings,
  signIn: SignInContext,
): Promise<string> {
  const { organisation, identity, request } = signIn;
  const role = claimedRole(settings, identity);
  const user = await findOrCreateUser(tx, deps, settings, signIn, role);
  if (user.status !== 'active') throw new ApiError('forbidden', 'Your user is not active');
  const author = authorOf(organisation, user, request);
  if (role !== null && user.role !== 'owner' && user.role !== role) {
    await users.update(tx, user, { role, last_updated_at: request.now });
    await auditUser(tx, deps, author, user.id, 'update', { role });
  }
  if (settings.groupsClaim !== null) {
    const names = claimTexts(identity.claims, settings.groupsClaim);
    await applyGroups(tx, deps, author, user.id, names);
  }
  const account = { subjectHash: identity.subjectHash, sessionHash: identity.sessionHash };
  return (await insertSession(tx, deps, author, { user, account, facts: {} })).cookie;
}

/**
 * Null when roles are not taken from claims. @throws ApiError `forbidden` when the claims contain no role
 */
function claimedRole({ roles }: Settings, { claims }: ProvenIdentity): AssignedRole | null {
  if (roles === null) return null;
  const claimed = claimTexts(claims, roles.claim).flatMap(
    (value) => roles.byValue.get(value) ?? [],
  );
  if (claimed.length === 0) {
    throw new ApiError('forbidden', 'The identity provider gives you no role here');
  }
  return claimed.includes('admin') ? 'admin' : 'member';
}

/**
 * The user bound to this account. At the first sign-in it is the user with the same address, the user of an
 * invite to it, or, if the provider alone decides, a new user. Locked until the transaction ends.
 */
async function findOrCreateUser(
  tx: Db,
  deps: AdminDeps,
  settings: Settings,
  signIn: SignInContext,
  role: AssignedRole | null,
): Promise<users.StoredUser> {
  const { organisation, identity, request } = signIn;
  const { subjectHash, verifiedEmail: email } = identity;
  const bound = await userIdentities.findUserId(tx, organisation.id, subjectHash);
  const boundUser = bound && (await users.findByIdForUpdate(tx, organisation.id, bound));
  if (boundUser) return boundUser;
  if (email === null) {
    const message = 'The identity provider has not verified your e-mail address';
    throw new ApiError('forbidden', message);
  }
  const key = emailKey(email);
  // Locked first, so that concurrent sign-ins with one invite find the user that the first one creates.
  const invite = await userInvites.findOpenForUpdate(tx, organisation.id, key, request.now);
  const user =
    (await users.findByEmailKeyForUpdate(tx, organisation.id, key)) ??
    (await createUser(tx, deps, settings, signIn, { email, role, invite }));
  await userIdentities.insert(tx, {
    organisation_id: organisation.id,
    user_id: user.id,
    subject_hash: subjectHash,
    created_at: request.now,
  });
  return user;
}

interface Newcomer {
  readonly email: string;
  readonly role: AssignedRole | null;
  readonly invite: userInvites.StoredInvite | undefined;
}

async function createUser(
  tx: Db,
  deps: AdminDeps,
  settings: Settings,
  signIn: SignInContext,
  { email, role, invite }: Newcomer,
): Promise<users.StoredUser> {
  const { organisation, identity, request } = signIn;
  const { now } = request;
  if (invite === undefined && !isAutoProvisioned(organisation, settings)) {
    const message = 'No user of this organisation has your address; ask for an invite';
    throw new ApiError('forbidden', message);
  }
  const user: users.StoredUser = {
    id: newId(),
    organisation_id: organisation.id,
    email,
    external_id: null,
    email_key: emailKey(email),
    first_name: identity.firstName,
    last_name: identity.lastName,
    status: 'active',
    role: role ?? invite?.role ?? 'member',
    source: invite ? 'invite' : 'sign-in',
    version: 1,
    created_at: now,
    last_updated_at: now,
  };
  await users.insert(tx, user);
  const author = authorOf(organisation, user, request);
  await auditUser(tx, deps, author, user.id, 'create', {});
  if (invite !== undefined) await acceptInvite(tx, deps, author, invite, user);
  return user;
}

async function auditUser(
  tx: Db,
  deps: AdminDeps,
  author: Author,
  resourceId: string,
  action: 'create' | 'update',
  changes: Record<string, unknown>,
): Promise<void> {
  const entry = { kind: 'User', resourceId, workspaceId: null, changes } as const;
  await auditChange(tx, deps, author, { action, ...entry });
}
