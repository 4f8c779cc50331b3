/** Selects the address of a call, and refuses to send values of secret managers to other hosts. */
import { findBarredField } from '../../auth/mapped-fields.ts';
import type { ProviderAddress } from '../../model/services/provider-addresses.ts';
import { azureBaseUrl } from '../../upstream/dialects/azure-openai.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { GatewayProvider } from './gateway-provider.ts';

/** The parts of a destination that select its address. */
interface AddressParts {
  readonly customHost: string | null;
  readonly account: Readonly<Record<string, string>>;
}

/** Null when the service has no address of its own and none is configured. */
export function addressIn(
  { customHost, account }: AddressParts,
  usual: ProviderAddress,
): string | null {
  if (customHost !== null) return customHost;
  return usual.dialect === 'azure-openai' ? azureBaseUrl(account) : usual.baseUrl;
}

/**
 * A value of a secret manager is sent to the service's own address, or to a host that its reference lists.
 *
 * @throws GatewayError `custom_host_refused`
 */
export function requireAllowedAddress(
  { slug, mapped }: Pick<GatewayProvider, 'slug' | 'mapped'>,
  destination: AddressParts,
  usual: ProviderAddress,
): void {
  if (mapped === null) return;
  const address = addressIn(destination, usual);
  if (address === null || address === usual.baseUrl || !URL.canParse(address)) return;
  const barred = findBarredField(mapped.reveal().fields, address);
  if (barred === undefined) return;
  const message =
    `The secret ${barred.slug} of the provider @${slug} may not be sent to ` +
    `${new URL(address).host}; add the host to allowed_hosts of the secret reference`;
  throw new GatewayError('custom_host_refused', message, 'custom_host');
}
