/** Obtains the token of a login at Google Cloud or Entra ID. */
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { type CloudLogin, usesOwnIdentity } from './cloud-login.ts';
import { tokenByMachine, tokenByPod, tokenBySecret } from './entra-token.ts';
import { tokenByExchange, tokenByKey } from './google-token.ts';
import { type GrantedToken, isHeaderText, type TokenServer, tokenIn } from './granted-token.ts';
import type { OwnIdentity } from './own-identity.ts';

export interface CloudTokenMeans {
  readonly outbound: TokenServer;
  /** Null where logins never use the identity of the gateway. */
  readonly identity: OwnIdentity | null;
  readonly trusted: TrustedHosts;
}

/** A token that is renewed elsewhere is used until the provider refuses it. */
const staticLifeMs = 24 * 60 * 60_000;

export async function requestCloudToken(
  login: CloudLogin,
  { outbound, identity, trusted }: CloudTokenMeans,
  now: number,
): Promise<GrantedToken> {
  if (usesOwnIdentity(login) && identity?.isAllowed !== true) {
    const setting = 'GATEWRIGHT_SECRETS_BY_OWN_IDENTITY';
    return { fault: `it uses the identity of the gateway, which ${setting} does not allow` };
  }
  switch (login.kind) {
    case 'invalid':
      return { fault: login.fault };
    case 'static':
      return isHeaderText(login.token)
        ? { token: login.token, lifeMs: staticLifeMs }
        : { fault: 'azure_ad_token cannot be sent as a header' };
    case 'google-key':
      return tokenByKey(login, outbound, now);
    case 'google-workload':
      return tokenByExchange(login, outbound, {
        trusted,
        awsCredentials: identity?.awsCredentials ?? null,
        now,
      });
    case 'google-machine':
      return tokenOfMachine(identity!);
    case 'entra':
      return tokenBySecret(login, outbound);
    case 'entra-workload':
      return tokenByPod(login, identity!, outbound);
    case 'azure-machine':
      return tokenByMachine(login, identity!);
  }
}

async function tokenOfMachine({ machine }: OwnIdentity): Promise<GrantedToken> {
  try {
    return tokenIn((await machine.googleToken()) as Readonly<Record<string, unknown>>);
  } catch (error) {
    return { fault: (error as Error).message };
  }
}
