/** Stores the state of a sign-in in an encrypted browser cookie for ten minutes. */
import { EncryptJWT, errors, jwtDecrypt } from 'jose';
import { readCookie } from './cookies.ts';
import type { SignInAttempt } from './identity-provider.ts';
import type { DeploymentKeys } from './keyring.ts';

/** `tsgId` is the tenant that the user signs in to; `returnTo` the page to open afterwards. */
export interface StoredSignInAttempt extends SignInAttempt {
  readonly tsgId: string;
  readonly returnTo: string;
}

type Keys = Pick<DeploymentKeys, 'signInKey'>;

const cookieName = '__Host-gatewright-sign-in';
const lifetimeSeconds = 600;
const sealing = { alg: 'dir', enc: 'A256GCM' } as const;
const flags = 'Path=/; HttpOnly; Secure; SameSite=Lax';

/** `now` in milliseconds since the epoch. */
export async function createAttemptCookie(
  { signInKey }: Keys,
  attempt: StoredSignInAttempt,
  now: number,
): Promise<string> {
  const sealed = await new EncryptJWT({ ...attempt })
    .setProtectedHeader(sealing)
    .setExpirationTime(Math.floor(now / 1000) + lifetimeSeconds)
    .encrypt(signInKey);
  return `${cookieName}=${sealed}; Max-Age=${lifetimeSeconds}; ${flags}`;
}

export const clearedAttemptCookie = `${cookieName}=; Max-Age=0; ${flags}`;

/** Null when the browser sends no valid, unexpired cookie. */
export async function readAttempt(
  { signInKey }: Keys,
  cookies: string | null,
  now: number,
): Promise<StoredSignInAttempt | null> {
  const sealed = readCookie(cookies ?? '', cookieName);
  if (sealed === null) return null;
  try {
    const { payload } = await jwtDecrypt(sealed, signInKey, {
      currentDate: new Date(now),
      keyManagementAlgorithms: [sealing.alg],
      contentEncryptionAlgorithms: [sealing.enc],
    });
    return payload as unknown as StoredSignInAttempt;
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}
