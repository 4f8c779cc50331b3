/** Holds the session of the browser: who is signed in, and what they may do. */
import { signal } from '@preact/signals';
import { type BodyOf, change, isSignedOut, read, workspace } from './client.ts';

export type Session = BodyOf<'/v1/session'>;

/** Null until the session is loaded, and after signing out. */
export const session = signal<Session | null>(null);

/** Loads the session. @throws RequestFailed */
export async function loadSession(): Promise<void> {
  session.value = await read('/v1/session');
  isSignedOut.value = false;
}

/** Shows the resources of a workspace, and loads what the user may do there. @throws RequestFailed */
export async function chooseWorkspace(slug: string): Promise<void> {
  workspace.value = slug;
  await loadSession();
}

/** Exchanges the code of a one-time link for a session. @throws RequestFailed */
export async function signInByCode(code: string): Promise<void> {
  await change('POST', '/v1/sign-in/link', { code });
  await loadSession();
}

/** Ends the session and goes to the identity provider's page for signing out, where there is one. */
export async function signOut(): Promise<void> {
  const { end_session_url: address } = await change<{ end_session_url: string | null }>(
    'DELETE',
    '/v1/session',
  );
  session.value = null;
  isSignedOut.value = true;
  if (address !== null && /^https?:/.test(address)) location.assign(address);
}

/** Whether the signed-in user holds a scope; the server decides again on each request. */
export function mayDo(scope: string): boolean {
  const scopes = session.value?.scopes ?? [];
  return scopes.includes('*') || scopes.includes(scope);
}
