/** Reads values from Azure Key Vault with a login at Entra ID or the managed identity of the machine. */
import { z } from 'zod';
import type { AuthConfig } from '../model/secrets/secret-manager.ts';
import type { Secret } from '../secret.ts';
import { cloudService, secretRefusal, wrapErrors } from './cloud-service.ts';
import { type ManagedSecret, SecretUnreadable } from './managed-secret.ts';
import {
  type ManagerContext,
  requireOwnIdentity,
  requireOwnIdentityAt,
  type SecretManager,
} from './manager.ts';

const apiVersion = '7.4';
const defaultAuthority = 'https://login.microsoftonline.com';
/** Domains of key vaults, to which the token of a managed identity may be sent. */
const vaultDomains = ['.vault.azure.net', '.vault.azure.cn', '.vault.usgovcloudapi.net'];
/** A token is replaced this long before it expires. */
const marginMs = 5 * 60_000;

interface Token {
  readonly value: string;
  readonly expiresAt: number;
}

/** Response of Entra ID and of the metadata service; `expires_in` is seconds as number or text. */
const TokenResponse = z.object({ access_token: z.string(), expires_in: z.coerce.number() });
const Value = z.object({ value: z.string() });

export function azureManager(auth: Secret<AuthConfig>, context: ManagerContext): SecretManager {
  const { azure_vault_url: url, azure_authority_url: authority } = auth.reveal();
  const address = new URL(url!);
  const vault = cloudService(address, 'Azure Key Vault', context);
  const entra = cloudService(new URL(authority ?? defaultAuthority), 'Entra ID', context);
  let token: Token | null = null;
  const currentToken = async (): Promise<string> => {
    if (token === null || token.expiresAt - marginMs < context.clock.now()) {
      const requestedAt = context.clock.now();
      const granted =
        auth.reveal().azure_auth_mode === 'entra'
          ? await requestEntraToken(entra, auth.reveal(), address)
          : await requestMachineToken(auth.reveal(), address, context);
      token = { value: granted.access_token, expiresAt: requestedAt + granted.expires_in * 1000 };
    }
    return token.value;
  };
  const read = async (path: string): Promise<ManagedSecret> => {
    const authorization = `Bearer ${await currentToken()}`;
    const response = await vault.send({
      method: 'GET',
      path: `/secrets/${path.split('/').map(encodeURIComponent).join('/')}`,
      query: { 'api-version': apiVersion },
      headers: () => ({ authorization }),
    });
    const value = Value.safeParse(response.body);
    if (response.status === 200 && value.success) return value.data.value;
    // A revoked token must not be sent again.
    if (response.status === 401) token = null;
    const { error } = (response.body ?? {}) as { readonly error?: { readonly code?: unknown } };
    throw secretRefusal('Azure Key Vault does not give the secret', response, error?.code);
  };
  return {
    read: (path) => wrapErrors(() => read(path)),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([vault[Symbol.asyncDispose](), entra[Symbol.asyncDispose]()]);
    },
  };
}

async function requestEntraToken(
  entra: ReturnType<typeof cloudService>,
  auth: AuthConfig,
  address: URL,
): Promise<z.infer<typeof TokenResponse>> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: auth.azure_entra_client_id!,
    client_secret: auth.azure_entra_client_secret!,
    scope: `${resourceOf(address)}/.default`,
  });
  const response = await entra.send({
    method: 'POST',
    path: `/${encodeURIComponent(auth.azure_entra_tenant_id!)}/oauth2/v2.0/token`,
    headers: () => ({}),
    form,
  });
  const granted = TokenResponse.safeParse(response.body);
  if (response.status === 200 && granted.success) return granted.data;
  const { error } = (response.body ?? {}) as { readonly error?: unknown };
  throw secretRefusal('Entra ID does not accept the sign-in', response, error);
}

async function requestMachineToken(
  { azure_auth_mode: mode, azure_managed_client_id: clientId }: AuthConfig,
  address: URL,
  context: ManagerContext,
): Promise<z.infer<typeof TokenResponse>> {
  requireOwnIdentity(context, mode!);
  requireOwnIdentityAt(context, address, vaultDomains);
  const body = await context.machine.azureToken(resourceOf(address), clientId ?? null);
  const granted = TokenResponse.safeParse(body);
  if (granted.success) return granted.data;
  throw new SecretUnreadable('the machine has no identity at Azure', false);
}

/** Audience of tokens: the vaults of the cloud that contains the address. */
function resourceOf({ hostname }: URL): string {
  const domain = vaultDomains.find((ending) => hostname.endsWith(ending)) ?? vaultDomains[0]!;
  return `https://${domain.slice(1)}`;
}
