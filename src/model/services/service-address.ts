/** Selects the address of a service: the one that an account sets, else the usual one. */
import { type ProviderAddress, providerAddresses } from './provider-addresses.ts';

/** The members of an account that decide its address. */
export interface AddressMembers {
  /** Replaces every other address. */
  readonly customHost: string | null;
  /** Account fields by their names in a config. */
  readonly account: Readonly<Record<string, string>>;
}

/** Account fields that contain the name of an Azure resource, the first one with precedence. */
const resourceFields = ['azure_resource_name', 'resource_name'];

/** Services without a known address use OpenAI's format. */
export function usualAddress(service: string): ProviderAddress {
  const address = Object.hasOwn(providerAddresses, service)
    ? providerAddresses[service]
    : undefined;
  return address ?? { dialect: 'openai', baseUrl: null };
}

/** Null when the service has no address of its own and none is configured. */
export function addressIn(
  { customHost, account }: AddressMembers,
  usual: ProviderAddress,
): string | null {
  if (customHost !== null) return customHost;
  return usual.dialect === 'azure-openai' ? azureBaseUrl(account) : usual.baseUrl;
}

/** The account field that decides the address where no custom host does; undefined for none. */
export function addressField(
  account: AddressMembers['account'],
  { dialect }: ProviderAddress,
): string | undefined {
  return dialect === 'azure-openai'
    ? resourceFields.find((name) => account[name] !== undefined)
    : undefined;
}

/** Base URL of an Azure resource; null without a valid resource name. */
function azureBaseUrl(account: AddressMembers['account']): string | null {
  const name = resourceFields.map((field) => account[field]).find((value) => value !== undefined);
  // Exactly one host label, so that the name cannot lead to another host.
  if (name === undefined || !/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(name)) return null;
  return `https://${name}.openai.azure.com/openai`;
}
