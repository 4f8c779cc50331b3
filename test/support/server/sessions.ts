/** Adds signed-in people without an identity provider. */

import { makeSession } from '../../../src/auth/sessions.ts';
import { newId } from '../../../src/model/wire/ids.ts';
import type { Settings } from '../../../src/settings.ts';
import * as userSessions from '../../../src/store/people/user-sessions.ts';
import type { TestServer } from './server.ts';

const dayMs = 86_400_000;
const publicUrl = new URL('https://gateway.example.com');

/** Settings that enable sign-in with an unreachable identity provider. */
export const signedInSettings: Pick<Settings, 'signIn' | 'sessions'> = {
  signIn: {
    issuer: new URL('https://login.invalid'),
    clientId: 'test',
    proof: { method: 'none' },
    publicUrl,
    tsgId: null,
    scopes: 'openid',
    roles: null,
    groupsClaim: null,
    provisions: false,
  },
  sessions: { publicUrl, sessionMs: 365 * dayMs, idleMs: 365 * dayMs },
};

/** The headers of the user's browser, and the id of the session. */
export async function addSession(
  { app, organisationId, clock }: Pick<TestServer, 'app' | 'organisationId' | 'clock'>,
  userId: string,
): Promise<{ readonly id: string; readonly headers: Record<string, string> }> {
  const id = newId();
  const { sessionMs } = signedInSettings.sessions;
  const { tokenHmac, cookie } = makeSession(app.keyring, { organisationId, id }, sessionMs);
  await userSessions.insert(app.database.db, {
    organisation_id: organisationId,
    id,
    user_id: userId,
    token_hmac: tokenHmac,
    subject_hash: Buffer.alloc(32),
    provider_session_hash: null,
    created_at: clock.now(),
    last_used_at: clock.now(),
    expires_at: clock.now() + sessionMs,
  });
  const headers = { cookie: cookie.slice(0, cookie.indexOf(';')), origin: publicUrl.origin };
  return { id, headers };
}
