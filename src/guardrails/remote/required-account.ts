/** Finds the account of the provider that a check names. */
import { CheckError, type CheckSubject } from '../check.ts';
import { type Parameters, textParameter } from './check-parameters.ts';
import type { ProviderCheckAccount, ServiceAccounts } from './service-accounts.ts';

/** Null when the check names no provider. @throws CheckError when the provider cannot be used */
export async function namedAccount(
  parameters: Parameters,
  accounts: ServiceAccounts | null,
  subject: CheckSubject,
  services: readonly string[],
): Promise<ProviderCheckAccount | null> {
  const slug = textParameter(parameters, 'provider').replace(/^@/, '');
  if (slug === '') return null;
  if (textParameter(parameters, 'endpoint') !== '') {
    throw new CheckError(
      'a check with a provider has the address of the provider, and no endpoint',
    );
  }
  const { tenant } = subject;
  const account =
    accounts === null || tenant === undefined
      ? null
      : await accounts.providerOf(tenant, slug, services);
  if (account !== null) return account;
  throw new CheckError(
    `the workspace has no provider @${slug.replace(/[^\w.-]/g, '')} at ${services.join(' or ')}`,
  );
}
