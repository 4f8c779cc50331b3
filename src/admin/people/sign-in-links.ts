/**
 * HTTP routes for signing in by a one-time link (docs/reference/access.md, Sign-in by a link): its creation
 * by an authorised caller, and its use by a browser.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { toRefusedCredential } from '../../auth/refused-credentials.ts';
import { isLoopbackOrigin, isOwnPage } from '../../auth/sessions.ts';
import { RawReply, type Route, type RouteRequest, route } from '../../http/routes/route.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { newId } from '../../model/wire/ids.ts';
import { isUuid } from '../../model/wire/slug-forms.ts';
import { formatTimestamp, ResponseTimestamp } from '../../model/wire/timestamp.ts';
import * as signInLinks from '../../store/people/sign-in-links.ts';
import * as users from '../../store/people/users.ts';
import * as organisations from '../../store/resources/organisations.ts';
import { requireAuthorityOver, requireOwnerOrSuperuser } from '../access/people-authority.ts';
import { auditChange } from '../request/change.ts';
import { type AdminDeps, type AdminRequest, everyMount } from '../request/deps.ts';
import { idOr404, requireWholeOrganisation } from '../request/scoping.ts';
import { authorOf, insertSession } from './session-changes.ts';

type Sessions = NonNullable<AdminDeps['sessions']>;

const lifetimeMs = 5 * 60_000;
const secretBytes = 32;

const LinkRecord = z.object({
  id: z.uuid(),
  user_id: z.uuid(),
  /** Opens the console and signs the user in, once. */
  url: z.string(),
  expires_at: ResponseTimestamp,
  object: z.literal('sign-in-link'),
});

export function signInLinkRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      mounts: everyMount,
      method: 'POST',
      path: '/admin/users/:id/sign-in-links',
      scope: 'organisation_users.update',
      summary: 'Create a link that signs a user in once, within five minutes',
      // No response is stored for an Idempotency-Key, because only this response may contain the code.
      isRepeatable: true,
      refusals: ['conflict', 'featureDisabled'],
      response: LinkRecord,
      handle: (request) => create(deps, request),
    }),
  ];
}

async function create(deps: AdminDeps, request: AdminRequest): Promise<z.infer<typeof LinkRecord>> {
  const { caller, params, now } = request;
  const sessions = requireConsole(deps);
  requireWholeOrganisation(caller);
  const address = addressOf(sessions, request.origin);
  const { organisationId } = caller;
  const secret = randomBytes(secretBytes).toString('base64url');
  const link = { id: newId(), expires_at: now + lifetimeMs };
  const userId = await deps.database.transaction(async (tx) => {
    const user = await users.findByIdForShare(tx, organisationId, idOr404(params.id!));
    if (user === undefined) throw new ApiError('notFound');
    await requireOwnerOrSuperuser(tx, caller, user);
    await requireAuthorityOver(tx, caller, user);
    if (user.status !== 'active') throw new ApiError('conflict', 'The user is not active', 'id');
    await signInLinks.insert(tx, {
      ...link,
      organisation_id: organisationId,
      user_id: user.id,
      secret_hmac: deps.keyring.hashCredential(secret),
      created_at: now,
    });
    const entry = { kind: 'SignInLink', resourceId: link.id, workspaceId: null } as const;
    const changes = { user: user.id, expires_at: formatTimestamp(link.expires_at) };
    await auditChange(tx, deps, request, { action: 'create', ...entry, changes });
    return user.id;
  });
  const code = `${organisationId}.${link.id}.${secret}`;
  return {
    id: link.id,
    user_id: userId,
    // A fragment stays in the browser, so that no server and no proxy logs the code.
    url: `${address}/console#/sign-in/${code}`,
    expires_at: formatTimestamp(link.expires_at),
    object: 'sign-in-link',
  };
}

/** @throws ApiError `conflict` when no browser could keep a session of that address */
function addressOf({ publicUrl }: Sessions, origin: string): string {
  if (publicUrl !== null) return publicUrl.origin;
  // A server that listens on all addresses may be named by the unspecified one.
  const local = origin.replace(/^http:\/\/(?:0\.0\.0\.0|\[::\])(?=:|$)/, 'http://127.0.0.1');
  if (isLoopbackOrigin(local)) return local;
  const message =
    'Without GATEWRIGHT_PUBLIC_URL only browsers on this machine can sign in: set it, or reach the ' +
    'server at http://127.0.0.1, for example by kubectl port-forward';
  throw new ApiError('conflict', message, 'host');
}

const LinkUse = z.object({
  code: z.string().min(1).max(256).describe('Last part of the address of a link.'),
});

const OpenedSession = z.object({
  id: z.uuid(),
  expires_at: ResponseTimestamp,
  object: z.literal('session'),
});

type UseRequest = RouteRequest<null, Record<string, string>, undefined, z.infer<typeof LinkUse>>;

/** For browsers, which have no credential yet. */
export function signInByLinkRoutes(deps: AdminDeps): Route<null>[] {
  return [
    route({
      mounts: { v1: ['none'] },
      method: 'POST',
      path: '/sign-in/link',
      summary: 'Sign in with the code of a link',
      // A code works once.
      isRepeatable: true,
      refusals: ['unauthorized', 'forbidden', 'featureDisabled', 'rateLimited', 'unavailable'],
      body: LinkUse,
      response: OpenedSession,
      handle: (request) => signIn(deps, request),
    }),
  ];
}

async function signIn(deps: AdminDeps, request: UseRequest): Promise<RawReply> {
  const { body, now, requestId, pageOrigin, host } = request;
  const sessions = requireConsole(deps);
  // Another site must not be able to sign a browser in as somebody else.
  if (!isOwnPage(sessions, { origin: pageOrigin, host })) {
    throw new ApiError('forbidden', 'Sign in on a page of this server: origin', 'origin');
  }
  const link = await findLink(deps, request, body.code);
  const { organisation_id: organisationId, user_id: userId, id: linkId } = link;
  const organisation = await organisations.findById(deps.database.readable, organisationId);
  if (organisation === undefined) throw refuse(deps, request, 'unknown');
  const opened = await deps.database.transaction(async (tx) => {
    const user = await users.findByIdForShare(tx, organisationId, userId);
    // Exactly one of several concurrent requests with the code deletes the row.
    if (user?.status !== 'active' || !(await signInLinks.use(tx, link, now))) return null;
    const author = authorOf(organisation, user, { requestId, now });
    return insertSession(tx, deps, author, { user, account: null, facts: { link: linkId } });
  });
  if (opened === null) throw refuse(deps, request, 'inactive', link);
  const record: z.infer<typeof OpenedSession> = {
    id: opened.id,
    expires_at: formatTimestamp(opened.expiresAt),
    object: 'session',
  };
  return new RawReply(200, JSON.stringify(record), { 'set-cookie': opened.cookie });
}

/** @throws ApiError `unauthorized` for an unknown or expired link */
async function findLink(
  deps: AdminDeps,
  request: UseRequest,
  code: string,
): Promise<signInLinks.StoredSignInLink> {
  const [organisationId = '', id = '', secret = ''] = code.split('.');
  if (!isUuid(organisationId) || !isUuid(id)) throw refuse(deps, request, 'unknown');
  const link = await signInLinks.find(deps.database.readable, organisationId, id);
  const given = deps.keyring.hashCredential(secret);
  if (link === undefined || !timingSafeEqual(given, link.secret_hmac)) {
    throw refuse(deps, request, 'unknown');
  }
  if (link.expires_at <= request.now) throw refuse(deps, request, 'expired', link);
  return link;
}

/** Counts a refused code. The response is the same for every reason. */
function refuse(
  { refusals, throttle }: Pick<AdminDeps, 'refusals' | 'throttle'>,
  { remoteAddress, now }: UseRequest,
  reason: 'unknown' | 'expired' | 'inactive',
  link: signInLinks.StoredSignInLink | null = null,
): ApiError {
  const whose = link && { organisationId: link.organisation_id, subjectId: link.user_id };
  const refused = toRefusedCredential({ credential: 'sign_in_link', reason, ...whose });
  refusals.record(refused, { server: 'admin', remoteAddress });
  // Codes cannot be guessed; the limit protects against callers that send wrong ones continuously.
  const isTolerated = throttle.recordFailure([`sign-in-links ${remoteAddress}`], now);
  if (!isTolerated) return new ApiError('rateLimited');
  const message = 'This link was used, has expired or is unknown; get another: gatewright console';
  return new ApiError('unauthorized', message, 'code');
}

/** @throws ApiError `featureDisabled` unless the server serves the console */
function requireConsole({ sessions, servesConsole }: AdminDeps): Sessions {
  if (sessions === null || !servesConsole) {
    const message = 'The console is switched off on this deployment: GATEWRIGHT_CONSOLE_ENABLED';
    throw new ApiError('featureDisabled', message);
  }
  return sessions;
}
