/** Lists the places to which the secrets of an integration are sent. */
import { originOf, type SecretDestination } from '../secrets/secret-destinations.ts';
import { mappedPath, type StoredSecretMapping } from '../secrets/secret-mapping.ts';
import { accountFieldsIn } from '../services/account-fields.ts';
import { addressIn, customerField, usualAddress } from '../services/service-address.ts';
import type { IntegrationConfigurations, ModelSetting } from './integration.ts';

/** An address with its position in the body. */
export interface SecretAddress {
  readonly path: readonly (string | number)[];
  readonly role: SecretDestination['role'];
  readonly address: string;
}

/** The parts of an integration that decide where its secrets are sent. */
export interface AddressedIntegration {
  /** Slug of the service, which is fixed. */
  readonly service: string;
  readonly configurations: IntegrationConfigurations | null;
  readonly models: readonly ModelSetting[];
  readonly mappings: readonly StoredSecretMapping[];
}

/** Addresses that grant tokens: of OAuth client credentials, and of Entra ID. */
const loginField = 'oauth_token_endpoint';
const entraField = 'azure_authority_url';
const entraServices = ['azure-openai', 'azure-ai'];

function loginFieldsOf(service: string): readonly string[] {
  return entraServices.includes(service) ? [loginField, entraField] : [loginField];
}

/** Addresses that the integration sets; the service's own address is not among them. */
export function addressesOf({
  service,
  configurations,
  models,
}: Pick<AddressedIntegration, 'service' | 'configurations' | 'models'>): SecretAddress[] {
  const usual = usualAddress(service);
  const account = accountFieldsIn(configurations ?? {}) ?? {};
  const customHost = configurations?.custom_host ?? null;
  const field = customerField(account, usual);
  const all: [SecretAddress['role'], SecretAddress['path'], unknown][] = [
    ['service', ['configurations', 'custom_host'], customHost],
    [
      'service',
      ['configurations', field ?? ''],
      field === undefined ? null : addressIn({ customHost: null, account }, usual),
    ],
    ...loginFieldsOf(service).map((name): (typeof all)[number] => [
      'login',
      ['configurations', name],
      configurations?.[name],
    ]),
    ...models.map(({ configurations: own }, at): (typeof all)[number] => [
      'service',
      ['models', at, 'configurations', 'custom_host'],
      own?.custom_host,
    ]),
  ];
  return all.flatMap(([role, path, address]) =>
    typeof address === 'string' && URL.canParse(address) ? [{ path, role, address }] : [],
  );
}

/** Addresses, and members whose address a mapped value decides. */
export function destinationsOf(integration: AddressedIntegration): SecretDestination[] {
  const own = addressesOf(integration).map(({ path, role, address }) => ({
    path,
    role,
    place: originOf(address),
  }));
  const mapped = integration.mappings.flatMap(
    ({ target_field: field, reference_id: reference, secret_key: key }, at) => {
      const role = mappedRole(integration.service, field);
      if (role === null) return [];
      const place = JSON.stringify([reference, key ?? null, field]);
      return [{ path: ['secret_mappings', at, 'target_field'], role, place }];
    },
  );
  return [...own, ...mapped];
}

/** Null when the mapped field decides no address. */
function mappedRole(service: string, field: string): SecretDestination['role'] | null {
  const name = mappedPath(field).join('.');
  if (loginFieldsOf(service).includes(name)) return 'login';
  const decides = name === 'custom_host' || customerField({ [name]: '' }, usualAddress(service));
  return decides ? 'service' : null;
}
