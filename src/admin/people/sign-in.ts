/**
 * HTTP routes for signing in with a browser (docs/reference/access.md, Sign-in): to the identity provider
 * and back with a session.
 */
import { z } from 'zod';
import type { ProvenIdentity } from '../../auth/identity-provider.ts';
import { ProviderUnavailable, SignInRefused } from '../../auth/identity-provider.ts';
import { toRefusedCredential } from '../../auth/refused-credentials.ts';
import {
  clearedAttemptCookie,
  createAttemptCookie,
  readAttempt,
} from '../../auth/sign-in-attempts.ts';
import { RawReply, type Route, type RouteRequest, route } from '../../http/routes/route.ts';
import { tsgIdPattern } from '../../model/people/access-policy.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import * as userSessions from '../../store/people/user-sessions.ts';
import * as organisations from '../../store/resources/organisations.ts';
import type { AdminDeps, SignIn } from '../request/deps.ts';
import { openUserSession } from './sign-in-changes.ts';

/** A path of this host only, to prevent open redirects. */
const ownPathPattern = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,2047}$/;

const BeginQuery = z.object({
  tsg_id: z.string().regex(tsgIdPattern, 'must be ten digits').optional(),
  return_to: z.string().regex(ownPathPattern, 'must be a path of this server').optional(),
  /** Accepted for clients that send it; there is only one OAuth client. */
  sso_client_id: z.string().max(255).optional(),
});

const text = z.string().max(4096).optional();
/** Parameters with which a provider redirects back. */
const FinishQuery = z.object({
  code: text,
  state: text,
  iss: text,
  error: text,
  error_description: text,
});

const LogoutBody = z.object({ logout_token: z.string().max(8192) });

/** Shows the signed-in user, for deployments without a web page in front. */
const defaultReturnPath = '/v1/session';

export function signInRoutes(deps: AdminDeps): Route<null>[] {
  const open = { mounts: { v1: ['none'] }, response: z.object({}) } as const;
  return [
    route({
      ...open,
      method: 'GET',
      path: '/sign-in',
      summary: 'Start to sign in',
      query: BeginQuery,
      handle: (request) => begin(deps, request),
    }),
    route({
      ...open,
      method: 'GET',
      path: '/sign-in/callback',
      summary: 'Complete a sign-in after the redirect from the identity provider',
      query: FinishQuery,
      // RFC 6749, Section 4.1.2: clients ignore parameters that they do not know.
      ignoresUnknownQuery: true,
      handle: (request) => finish(deps, request),
    }),
    route({
      ...open,
      method: 'POST',
      path: '/sign-in/back-channel-logout',
      summary: 'End sessions that the identity provider has ended',
      bodyType: 'form',
      body: LogoutBody,
      handle: (request) => endByLogoutToken(deps, request),
    }),
  ];
}

type SignInRequest<Query> = RouteRequest<null, Record<string, string>, Query, undefined>;

async function begin(deps: AdminDeps, { query, now }: SignInRequest<z.infer<typeof BeginQuery>>) {
  const signIn = requireSignIn(deps);
  const tsgId = query.tsg_id ?? signIn.settings.tsgId;
  if (tsgId === null) {
    throw validationError({ path: ['tsg_id'], message: 'is required to select the organisation' });
  }
  if (![undefined, signIn.settings.clientId].includes(query.sso_client_id)) {
    const message = 'is not a client of this deployment';
    throw validationError({ path: ['sso_client_id'], message });
  }
  const { address, attempt } = await callProvider(signIn, () => signIn.provider.begin(now));
  const stored = { ...attempt, tsgId, returnTo: query.return_to ?? defaultReturnPath };
  return redirect(address.href, [await createAttemptCookie(deps.keyring, stored, now)]);
}

async function finish(deps: AdminDeps, request: SignInRequest<z.infer<typeof FinishQuery>>) {
  const { query, cookies, now } = request;
  const signIn = requireSignIn(deps);
  const attempt = await readAttempt(deps.keyring, cookies, now);
  // A browser tricked into returning with another person's code has no matching attempt.
  if (attempt === null || attempt.state !== query.state) {
    refuse(deps, request, null);
    const message =
      'belongs to no sign-in that started here within ten minutes; start again at /v1/sign-in';
    throw validationError({ path: ['state'], message });
  }
  const answered = Object.fromEntries(
    Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  const { tsgId } = attempt;
  const identity: ProvenIdentity = await callProvider(
    signIn,
    () => signIn.provider.finish(answered, attempt, now),
    () => refuse(deps, request, tsgId),
  );
  const organisation = await organisations.findByTsgId(deps.database.readable, tsgId);
  if (organisation === undefined) throw new ApiError('forbidden', 'There is no such organisation');
  const signInContext = { organisation, identity, request };
  const cookie = await openUserSession(deps, signIn.settings, signInContext).catch(
    (error: unknown) => {
      if (error instanceof ApiError && error.kind === 'forbidden') {
        refuse(deps, request, tsgId, 'not_accepted');
      }
      throw error;
    },
  );
  return redirect(attempt.returnTo, [cookie, clearedAttemptCookie]);
}

/** Back-channel logout. It covers all organisations, because the provider knows nothing of tenants. */
async function endByLogoutToken(
  deps: AdminDeps,
  request: RouteRequest<null, Record<string, string>, unknown, z.infer<typeof LogoutBody>>,
) {
  const { body, now, remoteAddress } = request;
  const signIn = requireSignIn(deps);
  const subject = await callProvider(
    signIn,
    () => signIn.provider.verifyLogoutToken(body.logout_token, now),
    () => {
      const refused = toRefusedCredential({ credential: 'logout_token', reason: 'unknown' });
      deps.refusals.record(refused, { server: 'admin', remoteAddress });
    },
  );
  const ended =
    'sessionHash' in subject ? { providerSessionHash: subject.sessionHash } : { ...subject };
  const { readable } = deps.database;
  for (const organisationId of await userSessions.listOrganisationsOf(readable, ended)) {
    await deps.database.transaction((tx) => userSessions.deleteMany(tx, organisationId, ended));
  }
  return {};
}

function requireSignIn({ signIn }: AdminDeps): SignIn {
  if (signIn === null) throw new ApiError('featureDisabled');
  return signIn;
}

/** Counts a sign-in that was refused after the redirect. */
function refuse(
  { refusals }: Pick<AdminDeps, 'refusals'>,
  { remoteAddress }: Pick<SignInRequest<unknown>, 'remoteAddress'>,
  tsgId: string | null,
  reason: 'unknown' | 'not_accepted' = 'unknown',
): void {
  const refused = toRefusedCredential({ credential: 'sign_in', reason, tsgId });
  refusals.record(refused, { server: 'admin', remoteAddress });
}

/** Logs a failure with its cause and reports it to the user without secrets. */
async function callProvider<T>(
  { onFailure }: SignIn,
  ask: () => Promise<T>,
  onRefused: () => void = () => {},
): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof SignInRefused) {
      onFailure(error);
      onRefused();
      throw new ApiError('forbidden', `Signing in failed: ${error.reason}`, '', { cause: error });
    }
    if (error instanceof ProviderUnavailable) {
      onFailure(error);
      throw new ApiError('unavailable', 'The identity provider does not respond now');
    }
    throw error;
  }
}

function redirect(location: string, cookies: string[]): RawReply {
  return new RawReply(302, null, { location, 'set-cookie': cookies });
}
