/** Refuses to send values of secret managers to hosts that their references do not list. */
import { findBarredField } from '../../auth/mapped-fields.ts';
import type { ProviderAddress } from '../../model/services/provider-addresses.ts';
import { type AddressMembers, addressIn, isOwnHost } from '../../model/services/service-address.ts';
import { GatewayError } from '../transfer/gateway-error.ts';
import type { GatewayProvider } from './gateway-provider.ts';

/**
 * A value of a secret manager is sent to the service's own address, or to a host that its reference lists. The
 * address that issues tokens is not the service's own.
 *
 * @throws GatewayError `custom_host_refused`
 */
export function requireAllowedAddress(
  provider: Pick<GatewayProvider, 'slug' | 'mapped' | 'login'>,
  destination: AddressMembers,
  usual: ProviderAddress,
): void {
  if (provider.mapped === null) return;
  const address = addressIn(destination, usual);
  if (address !== null && !isOwnHost(destination, usual)) {
    requireListedHost(provider, address, 'custom_host');
  }
  if (provider.login === null) return;
  const { endpoint } = provider.login.reveal();
  if (!isCloudEndpoint(endpoint)) requireListedHost(provider, endpoint, 'oauth_token_endpoint');
}

/** Token servers of clouds, to which nobody else has access. */
const cloudHosts = ['oauth2.googleapis.com', 'sts.googleapis.com', 'login.microsoftonline.com'];

function isCloudEndpoint(endpoint: string): boolean {
  if (!URL.canParse(endpoint)) return false;
  const { protocol, host } = new URL(endpoint);
  return protocol === 'https:' && cloudHosts.includes(host);
}

function requireListedHost(
  { slug, mapped }: Pick<GatewayProvider, 'slug' | 'mapped'>,
  address: string,
  param: string,
): void {
  if (mapped === null || !URL.canParse(address)) return;
  const barred = findBarredField(mapped.reveal().fields, address);
  if (barred === undefined) return;
  const message =
    `The secret ${barred.slug} of the provider @${slug} may not be sent to ` +
    `${new URL(address).host}; add the host to allowed_hosts of the secret reference`;
  throw new GatewayError('custom_host_refused', message, param);
}

/** @throws GatewayError `custom_host_refused` */
export function requireNoCustomHost(
  { customHost }: Pick<AddressMembers, 'customHost'>,
  { slug }: Pick<GatewayProvider, 'slug'>,
): void {
  if (customHost === null) return;
  const message = `The integration sets the address of the provider @${slug}; omit the custom host`;
  throw new GatewayError('custom_host_refused', message, 'custom_host');
}
