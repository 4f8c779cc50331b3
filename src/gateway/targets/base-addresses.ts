/** Checks and parses the base addresses of providers, and caches them. */
import { outboundUrlFault } from '../../model/services/outbound-url.ts';
import type { ProviderAddress } from '../../model/services/provider-addresses.ts';
import { type AddressMembers, addressIn } from '../../model/services/service-address.ts';
import type { TrustedHosts } from '../../trusted-hosts.ts';
import { GatewayError } from '../transfer/gateway-error.ts';

/** A parsed base address. */
interface Base {
  readonly origin: string;
  /** Path without a trailing slash. */
  readonly prefix: string;
  readonly search: string;
}

interface AddressedAccount extends AddressMembers {
  readonly service: string;
}

const basesMax = 10_000;

export class BaseAddresses {
  readonly #trusted: TrustedHosts;
  readonly #mockUrl: string | null;
  readonly #bases = new Map<string, Base>();

  /** `mockUpstreamHost` is host and port of the provider `mock-upstream`; null for the usual ones. */
  constructor(trusted: TrustedHosts, mockUpstreamHost: string | null) {
    this.#trusted = trusted;
    this.#mockUrl = mockUpstreamHost === null ? null : `http://${mockUpstreamHost}/v1`;
  }

  /** @throws GatewayError without an address, or for a forbidden one */
  of(account: AddressedAccount, usual: ProviderAddress): Base {
    const { service } = account;
    const isMock = service === 'mock-upstream' && this.#mockUrl !== null;
    const own = isMock ? { ...usual, baseUrl: this.#mockUrl } : usual;
    const address = addressIn(account, own);
    if (address === null) {
      const field = own.accountAddress?.fields[0] ?? 'custom_host';
      const message = `No address of ${service} is known; set ${field}`;
      throw new GatewayError('provider_missing', message, field);
    }
    const cached = this.#bases.get(address);
    if (cached !== undefined) return cached;
    const base = this.#parse(address);
    if (this.#bases.size === basesMax) this.#bases.clear();
    this.#bases.set(address, base);
    return base;
  }

  #parse(address: string): Base {
    const fault = outboundUrlFault(address, this.#trusted);
    if (fault !== null) {
      throw new GatewayError('custom_host_refused', `The custom host ${fault}`, 'custom_host');
    }
    const { origin, pathname, search } = new URL(address);
    if (search !== '') {
      const message = 'The custom host must not have a query';
      throw new GatewayError('custom_host_refused', message, 'custom_host');
    }
    return { origin, prefix: pathname.replace(/\/+$/, ''), search };
  }
}
