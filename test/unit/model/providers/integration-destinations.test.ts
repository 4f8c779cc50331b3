/** Verifies that every member which decides where secrets of an integration are sent is among its destinations. */
import { describe, expect, it } from 'vitest';
import { buildAccount } from '../../../../src/gateway/targets/mapped-account.ts';
import type { IntegrationConfigurations } from '../../../../src/model/providers/integration.ts';
import {
  type AddressedIntegration,
  destinationsOf,
} from '../../../../src/model/providers/integration-destinations.ts';
import { findNewDestination } from '../../../../src/model/secrets/secret-destinations.ts';
import { effectiveAccountFields } from '../../../../src/model/services/account-fields.ts';
import { foreignAccountFields } from '../../../../src/model/services/foreign-fields.ts';
import { providerAddresses } from '../../../../src/model/services/provider-addresses.ts';
import {
  addressIn,
  isOwnHost,
  usualAddress,
} from '../../../../src/model/services/service-address.ts';

const services = [...Object.keys(providerAddresses), 'unknown-service'];
const urlFields = [
  'custom_host',
  'oauth_token_endpoint',
  'azure_authority_url',
  'azure_foundry_url',
];
const entra = {
  azure_auth_mode: 'entra',
  azure_entra_tenant_id: 'tenant',
  azure_entra_client_id: 'client',
  azure_entra_client_secret: 'secret',
};
const fields = new Set([
  'custom_host',
  ...effectiveAccountFields,
  ...Object.values(foreignAccountFields).flat(),
]);

const integration = (
  service: string,
  configurations: object,
  more: Partial<AddressedIntegration> = {},
): AddressedIntegration => ({
  service,
  configurations: configurations as IntegrationConfigurations,
  models: [],
  mappings: [],
  ...more,
});

/** The addresses that the gateway calls, without those of the service itself. */
function calledAddresses(service: string, configurations: IntegrationConfigurations) {
  const account = buildAccount(service, { key: null, configurations }, 'test');
  const usual = usualAddress(service);
  const address = isOwnHost(account, usual) ? null : addressIn(account, usual);
  return [address, account.login?.reveal().endpoint || null];
}

/** The domain where a service has a host for each region, else the origin. */
function placeOf(service: string, url: string): string {
  const { host, origin } = new URL(url);
  const { accountAddress } = usualAddress(service);
  return accountAddress?.isOfCustomer === false ? host.split('.').slice(-2).join('.') : origin;
}

describe('a changed member of an integration', () => {
  it.each(services)('is a new destination exactly when calls go elsewhere: %s', (service) => {
    const deciding = [...fields].filter((field) => {
      const login =
        field === 'azure_authority_url' ? entra : { provider_auth_type: 'oauthClientCredentials' };
      const url = urlFields.includes(field);
      const [one, two] = ['one', 'two'].map((name) => ({
        ...(field === 'provider_auth_type' ? {} : login),
        [field]: url ? `https://${name}.example/v1` : name,
      })) as [IntegrationConfigurations, IntegrationConfigurations];
      const [before, after] = [one, two].map((each) => destinationsOf(integration(service, each)));
      const [here, there] = [one, two].map((each) =>
        calledAddresses(service, each).map((url) => url && placeOf(service, url)),
      );
      const isMoved = JSON.stringify(here) !== JSON.stringify(there);
      expect([field, findNewDestination(before!, after!) !== undefined]).toEqual([field, isMoved]);
      return isMoved;
    });
    const { accountAddress } = usualAddress(service);
    const ofCustomer = accountAddress?.isOfCustomer === true ? accountAddress.fields : [];
    const authority = service.startsWith('azure') ? ['azure_authority_url'] : [];
    expect(deciding.toSorted()).toEqual(
      ['custom_host', 'oauth_token_endpoint', ...authority, ...ofCustomer].toSorted(),
    );
  });

  it('is a new destination when a login moves to the host of requests, and the reverse', () => {
    const [a, b] = ['https://a.example/v1', 'https://b.example/token'];
    const before = integration('openai', { custom_host: a, oauth_token_endpoint: b });
    for (const moved of [
      { custom_host: a, oauth_token_endpoint: 'https://a.example/token' },
      { custom_host: 'https://b.example/v1', oauth_token_endpoint: b },
    ]) {
      const after = destinationsOf(integration('openai', moved));
      expect(findNewDestination(destinationsOf(before), after)).toBeDefined();
    }
  });

  it('is no new destination when only the path changes or an address is removed', () => {
    const before = destinationsOf(integration('openai', { custom_host: 'https://a.example/v1' }));
    for (const after of [{ custom_host: 'https://a.example/v2' }, {}]) {
      const now = destinationsOf(integration('openai', after));
      expect(findNewDestination(before, now)).toBeUndefined();
    }
  });

  it.each(['custom_host', 'oauth_token_endpoint'])(
    'is a new destination when a mapped value decides it: %s',
    (field) => {
      const mapping = {
        target_field: `configurations.${field}`,
        secret_reference_id: 'vault',
        reference_id: 'id',
      };
      const after = destinationsOf(integration('openai', {}, { mappings: [mapping] }));
      expect(findNewDestination([], after)?.path).toEqual(['secret_mappings', 0, 'target_field']);
      const key = { ...mapping, target_field: 'key' };
      expect(destinationsOf(integration('openai', {}, { mappings: [key] }))).toEqual([]);
    },
  );
});
