/** Provides accounts to the checks of guardrails: logins at AWS and Entra ID, and providers of workspaces. */
import { createHash } from 'node:crypto';
import { CheckError, type CheckTenant } from '../../guardrails/check.ts';
import type { RequestSigner } from '../../guardrails/remote/remote-service.ts';
import type {
  AwsCheckLogin,
  EntraCheckLogin,
  ProviderCheckAccount,
  ServiceAccounts,
} from '../../guardrails/remote/service-accounts.ts';
import { Secret } from '../../secret.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import type { ClientTokens } from '../logins/client-tokens.ts';
import { entraEndpoint } from '../logins/entra-login.ts';
import { requireServiceHost } from '../logins/own-identity.ts';
import type { AwsSigners } from '../signing/aws-signers.ts';
import type { CallSigner } from '../signing/call-signer.ts';
import type { CallableProviders } from '../targets/callable-providers.ts';
import { type GatewayProvider, requireUsable } from '../targets/gateway-provider.ts';
import type { Providers } from '../targets/providers.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

interface CheckAccountsOptions {
  readonly providers: Pick<Providers, 'find'>;
  readonly callableProviders: Pick<CallableProviders, 'list'>;
  readonly signers: Pick<AwsSigners, 'signerOf'>;
  readonly tokens: Pick<ClientTokens, 'sourceOf'>;
  readonly trusted: TrustedHosts;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Name of checks in messages and in place of their secrets. */
const origin = 'guardrail check';
const authority = 'https://login.microsoftonline.com';
const entraScope = 'https://cognitiveservices.azure.com/.default';

export class CheckAccounts implements ServiceAccounts {
  readonly #options: CheckAccountsOptions;

  constructor(options: CheckAccountsOptions) {
    this.#options = options;
  }

  /** A check never signs with the identity of the gateway itself, because anybody may write one. */
  signerOf(login: AwsCheckLogin, region: string): RequestSigner {
    const own = new Secret({ ...login, origin, mayUseMachine: false }, origin);
    return signerForChecks(this.#options.signers.signerOf(own, region));
  }

  async entraToken({ tenantId, clientId, clientSecret }: EntraCheckLogin): Promise<string> {
    const endpoint = entraEndpoint(authority, tenantId);
    if (endpoint === null) throw new CheckError('credentials.tenantId must be an id or a domain');
    const login = { kind: 'entra', origin, endpoint, clientId, clientSecret, scope: entraScope };
    const id = createHash('sha256').update(JSON.stringify(login)).digest('base64');
    const source = this.#options.tokens.sourceOf(
      `check ${id}`,
      new Secret({ ...login, kind: 'entra' as const }, origin),
    );
    return (await checked(async () => source.token(null))).reveal();
  }

  async providerOf(
    tenant: CheckTenant,
    slug: string | null,
    services: readonly string[],
  ): Promise<ProviderCheckAccount | null> {
    const { providers } = this.#options;
    const { now } = this.#options;
    if (slug === null) return this.#firstOf(tenant, services);
    const provider = await checked(async () => providers.find(tenant, `@${slug}`));
    if (!services.includes(provider.service)) return null;
    await checked(async () => requireUsable(provider, now()));
    return this.#accountOf(provider);
  }

  async #firstOf(
    tenant: CheckTenant,
    services: readonly string[],
  ): Promise<ProviderCheckAccount | null> {
    const { providers, callableProviders, now } = this.#options;
    let best: GatewayProvider | null = null;
    for (const name of await callableProviders.list(tenant)) {
      const provider = await findOrNull(async () => {
        const found = await providers.find(tenant, name);
        requireUsable(found, now());
        return found;
      });
      const rank = provider === null ? -1 : services.indexOf(provider.service);
      if (rank === -1) continue;
      if (rank === 0) return this.#accountOf(provider!);
      best ??= provider;
    }
    return best === null ? null : this.#accountOf(best);
  }

  async #accountOf(provider: GatewayProvider): Promise<ProviderCheckAccount> {
    const { signers } = this.#options;
    const { service, customHost, account, aws } = provider;
    return {
      name: `@${provider.id}`,
      service,
      mark: provider.integrationVersion,
      customHost: customHost?.replace(/\/+$/, '') ?? null,
      fields: account,
      headers: provider.headers.reveal(),
      key: provider.credential?.reveal() ?? null,
      token: await this.#tokenOf(provider),
      signerIn: (region) => (aws === null ? null : signerForChecks(signers.signerOf(aws, region))),
    };
  }

  async #tokenOf({
    login,
    integrationId,
    account,
    customHost,
  }: GatewayProvider): Promise<string | null> {
    if (login === null) return null;
    const { tokens, trusted } = this.#options;
    const resource = `https://${account.azure_resource_name ?? ''}.cognitiveservices.azure.com`;
    return checked(async () => {
      const host = customHost ?? (URL.canParse(resource) ? resource : 'https://unknown.invalid');
      requireServiceHost(login.reveal(), new URL(host).origin, trusted);
      return (await tokens.sourceOf(integrationId, login).token(null)).reveal();
    });
  }
}

function signerForChecks(signer: CallSigner): RequestSigner {
  return {
    mark: signer.mark,
    sign: (call) => checked(() => signer.sign(call)),
    renew: (response) => signer.renew(response),
  };
}

/** Messages of the gateway about accounts contain no secrets. @throws CheckError */
async function checked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GatewayError) throw new CheckError(error.message, { cause: error });
    throw error;
  }
}

async function findOrNull<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}
