/** Creates one-time links with which a user signs in to the console. */
import { z } from 'zod';
import type { AdminClient } from './client.ts';

const UserList = z.object({ data: z.array(z.object({ id: z.string(), email: z.string() })) });

const SignInLink = z.object({
  /** Contains the code: for the screen of the caller only. */
  url: z.string(),
  expires_at: z.string(),
});

export interface NewSignInLink {
  readonly url: string;
  /** RFC 3339. */
  readonly expiresAt: string;
  /** Address of the user. */
  readonly email: string;
}

/**
 * Creates a link for the user with an address, or for the owner of the organisation. Null when there is no
 * such user.
 *
 * @throws what the client throws
 */
export async function createSignInLink(
  client: AdminClient,
  email: string | null,
  signal: AbortSignal,
): Promise<NewSignInLink | null> {
  const query = new URLSearchParams(email === null ? { role: 'owner' } : { email });
  const users = await client.request({ method: 'GET', path: `/v2/admin/users?${query}`, signal });
  const [user] = UserList.parse(users.body).data;
  if (user === undefined) return null;
  const { body } = await client.request({
    method: 'POST',
    path: `/v2/admin/users/${user.id}/sign-in-links`,
    countsAsWrite: false,
    signal,
  });
  const { url, expires_at: expiresAt } = SignInLink.parse(body);
  return { url, expiresAt, email: user.email };
}
