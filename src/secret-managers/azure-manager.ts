/** Knows how values are read from Azure Key Vault, signed in to at Entra ID or by the identity of the machine. */
import { z } from 'zod';
import type { AuthConfig } from '../model/secrets/secret-manager.ts';
import type { Secret } from '../secret.ts';
import { cloudService, refusal, telling } from './cloud-service.ts';
import { type ManagedSecret, SecretUnreadable } from './kept-secret.ts';
import {
  type ManagerContext,
  requireOwnIdentity,
  requireOwnIdentityAt,
  type SecretManager,
} from './manager.ts';

const apiVersion = '7.4';
const authorityUsual = 'https://login.microsoftonline.com';
/** Domains of key vaults, which the identity of a machine may be shown to. */
const vaultDomains = ['.vault.azure.net', '.vault.azure.cn', '.vault.usgovcloudapi.net'];
/** A token is replaced so long before its end. */
const marginMs = 5 * 60_000;

interface Token {
  readonly value: string;
  readonly endsAt: number;
}

/** Of both who give tokens; seconds, as a number or as text. */
const Granted = z.object({ access_token: z.string(), expires_in: z.coerce.number() });
const Value = z.object({ value: z.string() });

export function azureManager(auth: Secret<AuthConfig>, means: ManagerContext): SecretManager {
  const { azure_vault_url: url, azure_authority_url: authority } = auth.reveal();
  const address = new URL(url!);
  const vault = cloudService(address, 'Azure Key Vault', means);
  const entra = cloudService(new URL(authority ?? authorityUsual), 'Entra ID', means);
  let token: Token | null = null;
  const tokenNow = async (): Promise<string> => {
    if (token === null || token.endsAt - marginMs < means.clock.now()) {
      const asked = means.clock.now();
      const granted =
        auth.reveal().azure_auth_mode === 'entra'
          ? await grantedByEntra(entra, auth.reveal(), address)
          : await grantedByMachine(auth.reveal(), address, means);
      token = { value: granted.access_token, endsAt: asked + granted.expires_in * 1000 };
    }
    return token.value;
  };
  const read = async (path: string): Promise<ManagedSecret> => {
    const authorization = `Bearer ${await tokenNow()}`;
    const answer = await vault.send({
      method: 'GET',
      path: `/secrets/${path.split('/').map(encodeURIComponent).join('/')}`,
      query: { 'api-version': apiVersion },
      headers: () => ({ authorization }),
    });
    const value = Value.safeParse(answer.body);
    if (answer.status === 200 && value.success) return value.data.value;
    // One that was taken back is not to be shown again.
    if (answer.status === 401) token = null;
    const { error } = (answer.body ?? {}) as { readonly error?: { readonly code?: unknown } };
    throw refusal('Azure Key Vault does not give the secret', answer, error?.code);
  };
  return {
    read: (path) => telling(() => read(path)),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([vault[Symbol.asyncDispose](), entra[Symbol.asyncDispose]()]);
    },
  };
}

async function grantedByEntra(
  entra: ReturnType<typeof cloudService>,
  auth: AuthConfig,
  address: URL,
): Promise<z.infer<typeof Granted>> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: auth.azure_entra_client_id!,
    client_secret: auth.azure_entra_client_secret!,
    scope: `${resourceOf(address)}/.default`,
  });
  const answer = await entra.send({
    method: 'POST',
    path: `/${encodeURIComponent(auth.azure_entra_tenant_id!)}/oauth2/v2.0/token`,
    headers: () => ({}),
    form,
  });
  const granted = Granted.safeParse(answer.body);
  if (answer.status === 200 && granted.success) return granted.data;
  const { error } = (answer.body ?? {}) as { readonly error?: unknown };
  throw refusal('Entra ID does not accept the sign-in', answer, error);
}

async function grantedByMachine(
  { azure_auth_mode: mode, azure_managed_client_id: clientId }: AuthConfig,
  address: URL,
  means: ManagerContext,
): Promise<z.infer<typeof Granted>> {
  requireOwnIdentity(means, mode!);
  requireOwnIdentityAt(means, address, vaultDomains);
  const told = await means.machine.azureToken(resourceOf(address), clientId ?? null);
  const granted = Granted.safeParse(told);
  if (granted.success) return granted.data;
  throw new SecretUnreadable('the machine has no identity at Azure', false);
}

/** Whom tokens are for: the vaults of the cloud that the address is in. */
function resourceOf({ hostname }: URL): string {
  const domain = vaultDomains.find((ending) => hostname.endsWith(ending)) ?? vaultDomains[0]!;
  return `https://${domain.slice(1)}`;
}
