/** Lists the addresses to which the secrets of an integration are sent, and compares them by origin. */
import type { Fault } from '../wire/fault.ts';
import type { IntegrationConfigurations, ModelSetting } from './integration.ts';

/** An address with its position in the body. */
export interface SecretAddress {
  readonly path: readonly (string | number)[];
  readonly address: string;
}

export interface AddressedIntegration {
  readonly configurations: IntegrationConfigurations | null;
  readonly models: readonly ModelSetting[];
}

/** Addresses that the integration sets; the service's own address is not among them. */
export function addressesOf({ configurations, models }: AddressedIntegration): SecretAddress[] {
  const all: [readonly (string | number)[], unknown][] = [
    [['configurations', 'custom_host'], configurations?.custom_host],
    [['configurations', 'oauth_token_endpoint'], configurations?.oauth_token_endpoint],
    ...models.map(({ configurations: own }, at): (typeof all)[number] => [
      ['models', at, 'configurations', 'custom_host'],
      own?.custom_host,
    ]),
  ];
  return all.flatMap(([path, address]) =>
    typeof address === 'string' && URL.canParse(address) ? [{ path, address }] : [],
  );
}

/** The first address with an origin that no address had before; undefined for none. */
export function findNewAddress(
  before: AddressedIntegration,
  after: AddressedIntegration,
): SecretAddress | undefined {
  const known = new Set(addressesOf(before).map(({ address }) => new URL(address).origin));
  return addressesOf(after).find(({ address }) => !known.has(new URL(address).origin));
}

/** Fault for a stored secret that would be sent to an address for which nobody has entered it. */
export function retainedSecretFault(
  path: readonly (string | number)[],
  moved: SecretAddress,
): Fault {
  const name = moved.path.join('.');
  return {
    path,
    message: `must be sent again with its value, because ${name} changes to another origin`,
  };
}
