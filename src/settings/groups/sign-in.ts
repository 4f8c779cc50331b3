/** Groups and validates the settings of sign-in. */
import type { Secret } from '../../secret.ts';
import { isOfThisMachine, plainHttpFault } from '../../trusted-hosts.ts';
import type { secretIn } from '../reading/secrets.ts';
import { type ClientKey, type PublicKey, publicKeyOf } from '../variables/client-key.ts';
import type { SettingName, SettingValues } from '../variables/variables.ts';

/** How this deployment authenticates to the issuer; a public client only sends its ID. */
export type ClientProof =
  | { readonly method: 'none' }
  | { readonly method: 'client_secret_post' | 'client_secret_basic'; readonly secret: Secret }
  | {
      readonly method: 'private_key_jwt';
      readonly key: Secret<ClientKey>;
      readonly publicKey: PublicKey;
    };

export interface SignInSettings {
  readonly issuer: URL;
  readonly clientId: string;
  readonly proof: ClientProof;
  /** Address at which browsers reach the Admin API. */
  readonly publicUrl: URL;
  /** Default organisation for sign-in. */
  readonly tsgId: string | null;
  readonly scopes: string;
  /** Null when the issuer provides no roles. */
  readonly roles: {
    readonly claim: string;
    readonly byValue: ReadonlyMap<string, 'admin' | 'member'>;
  } | null;
  readonly groupsClaim: string | null;
  readonly provisions: boolean;
}

export function signInSettings(
  values: SettingValues,
  secretOf: ReturnType<typeof secretIn>,
): SignInSettings | null {
  const {
    GATEWRIGHT_SIGN_IN_ISSUER: issuer,
    GATEWRIGHT_SIGN_IN_CLIENT_ID: clientId,
    GATEWRIGHT_PUBLIC_URL: publicUrl,
    GATEWRIGHT_SIGN_IN_ROLE_CLAIM: claim,
    GATEWRIGHT_SIGN_IN_ROLES: byValue,
  } = values;
  if (issuer === undefined || clientId === undefined || publicUrl === undefined) return null;
  return {
    issuer,
    clientId,
    publicUrl,
    proof: proofOf(values, secretOf),
    tsgId: values.GATEWRIGHT_SIGN_IN_TSG_ID ?? null,
    scopes: values.GATEWRIGHT_SIGN_IN_SCOPES,
    roles: claim === undefined || byValue === undefined ? null : { claim, byValue },
    groupsClaim: values.GATEWRIGHT_SIGN_IN_GROUPS_CLAIM ?? null,
    provisions: values.GATEWRIGHT_SIGN_IN_PROVISION,
  };
}

function proofOf(values: SettingValues, secretOf: ReturnType<typeof secretIn>): ClientProof {
  const method = values.GATEWRIGHT_SIGN_IN_AUTH_METHOD ?? 'client_secret_post';
  const key = secretOf('GATEWRIGHT_SIGN_IN_CLIENT_JWKS');
  if (method === 'private_key_jwt') {
    if (key === undefined) return { method: 'none' };
    return { method, key, publicKey: publicKeyOf(key.reveal()) };
  }
  const secret = secretOf('GATEWRIGHT_SIGN_IN_CLIENT_SECRET');
  return secret === undefined ? { method: 'none' } : { method, secret };
}

/** Settings that each setting requires. Sessions need none of them: a link opens them too. */
const needs: Partial<Record<SettingName, readonly SettingName[]>> = {
  GATEWRIGHT_SIGN_IN_ISSUER: ['GATEWRIGHT_SIGN_IN_CLIENT_ID', 'GATEWRIGHT_PUBLIC_URL'],
  GATEWRIGHT_SIGN_IN_CLIENT_ID: ['GATEWRIGHT_SIGN_IN_ISSUER', 'GATEWRIGHT_PUBLIC_URL'],
  GATEWRIGHT_SIGN_IN_CLIENT_SECRET: ['GATEWRIGHT_SIGN_IN_ISSUER'],
  GATEWRIGHT_SIGN_IN_AUTH_METHOD: ['GATEWRIGHT_SIGN_IN_ISSUER'],
  GATEWRIGHT_SIGN_IN_CLIENT_JWKS: ['GATEWRIGHT_SIGN_IN_ISSUER'],
  GATEWRIGHT_SIGN_IN_TSG_ID: ['GATEWRIGHT_SIGN_IN_ISSUER'],
  GATEWRIGHT_SIGN_IN_SCOPES: ['GATEWRIGHT_SIGN_IN_ISSUER'],
  GATEWRIGHT_SIGN_IN_ROLE_CLAIM: ['GATEWRIGHT_SIGN_IN_ISSUER', 'GATEWRIGHT_SIGN_IN_ROLES'],
  GATEWRIGHT_SIGN_IN_ROLES: ['GATEWRIGHT_SIGN_IN_ISSUER', 'GATEWRIGHT_SIGN_IN_ROLE_CLAIM'],
  GATEWRIGHT_SIGN_IN_GROUPS_CLAIM: ['GATEWRIGHT_SIGN_IN_ISSUER'],
};

/** @param isGiven whether a setting is set, even if invalid */
export function signInFaults(
  values: SettingValues,
  isGiven: (name: SettingName) => boolean,
): string[] {
  const pairs = Object.entries(needs) as [SettingName, readonly SettingName[]][];
  const wanting = values.GATEWRIGHT_SIGN_IN_PROVISION
    ? [...pairs, ['GATEWRIGHT_SIGN_IN_PROVISION', ['GATEWRIGHT_SIGN_IN_TSG_ID']] as const]
    : pairs;
  const faults = wanting.flatMap(([name, needed]) =>
    isGiven(name)
      ? needed
          .filter((one) => !isGiven(one))
          .map((one) => `${name} is set, but has no effect without ${one}: set both or none`)
      : [],
  );
  faults.push(...proofFaults(values, isGiven));
  for (const name of ['GATEWRIGHT_SIGN_IN_ISSUER', 'GATEWRIGHT_PUBLIC_URL'] as const) {
    const address = values[name];
    if (address === undefined || address.protocol === 'https:' || isOfThisMachine(address))
      continue;
    const isIssuer = name === 'GATEWRIGHT_SIGN_IN_ISSUER';
    const fault = isIssuer
      ? plainHttpFault(address.href, values.TRUSTED_CUSTOM_HOSTS ?? [])
      : 'must begin with https://, save on this machine';
    if (fault !== null) faults.push(`${name} ${fault}`);
  }
  const at = values.GATEWRIGHT_PUBLIC_URL?.pathname ?? '/';
  if (at !== '/') {
    faults.push('GATEWRIGHT_PUBLIC_URL must have no path: cookies are for the whole host');
  }
  return faults;
}

/** Each authentication method requires its own credential and forbids the others. */
function proofFaults(values: SettingValues, isGiven: (name: SettingName) => boolean): string[] {
  const [secret, key] = [
    'GATEWRIGHT_SIGN_IN_CLIENT_SECRET',
    'GATEWRIGHT_SIGN_IN_CLIENT_JWKS',
  ] as const;
  const method = values.GATEWRIGHT_SIGN_IN_AUTH_METHOD;
  const byKey = method === 'private_key_jwt';
  const [wanted, other] = byKey ? [key, secret] : [secret, key];
  const faults: string[] = [];
  if (method !== undefined && !isGiven(wanted)) {
    faults.push(`GATEWRIGHT_SIGN_IN_AUTH_METHOD is ${method}, which needs ${wanted}`);
  }
  if (isGiven(other) && (byKey || isGiven(key))) {
    const needed = byKey ? 'client_secret_post or client_secret_basic' : 'private_key_jwt';
    faults.push(`${other} is for GATEWRIGHT_SIGN_IN_AUTH_METHOD=${needed}: set both or none`);
  }
  return faults;
}
