/** Knows what a browser keeps while its owner is with the identity provider: sealed, for ten minutes, in a cookie. */
import { EncryptJWT, errors, jwtDecrypt } from 'jose';
import { readCookie } from './cookies.ts';
import type { SignInAttempt } from './identity-provider.ts';
import type { DeploymentKeys } from './keyring.ts';

/** Of whom somebody wants to become a user, and where they go afterwards. */
export interface KeptAttempt extends SignInAttempt {
  readonly tsgId: string;
  readonly returnTo: string;
}

type Keys = Pick<DeploymentKeys, 'signInKey'>;

const cookieName = '__Host-gatewright-sign-in';
const lifetimeSeconds = 600;
const sealing = { alg: 'dir', enc: 'A256GCM' } as const;
const flags = 'Path=/; HttpOnly; Secure; SameSite=Lax';

/** `now` in milliseconds since the epoch. */
export async function attemptCookie(
  { signInKey }: Keys,
  attempt: KeptAttempt,
  now: number,
): Promise<string> {
  const sealed = await new EncryptJWT({ ...attempt })
    .setProtectedHeader(sealing)
    .setExpirationTime(Math.floor(now / 1000) + lifetimeSeconds)
    .encrypt(signInKey);
  return `${cookieName}=${sealed}; Max-Age=${lifetimeSeconds}; ${flags}`;
}

export const forgottenAttempt = `${cookieName}=; Max-Age=0; ${flags}`;

/** Null where the browser keeps none of ours that is still good. */
export async function readAttempt(
  { signInKey }: Keys,
  cookies: string | null,
  now: number,
): Promise<KeptAttempt | null> {
  const sealed = readCookie(cookies ?? '', cookieName);
  if (sealed === null) return null;
  try {
    const { payload } = await jwtDecrypt(sealed, signInKey, {
      currentDate: new Date(now),
      keyManagementAlgorithms: [sealing.alg],
      contentEncryptionAlgorithms: [sealing.enc],
    });
    return payload as unknown as KeptAttempt;
  } catch (error) {
    if (error instanceof errors.JOSEError) return null;
    throw error;
  }
}
