/** Connects sockets to providers: checks every resolved address and dials no other. */
import { type LookupAddress, type LookupOptions, lookup as lookUp } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { resolvedAddressFault } from '../model/services/outbound-url.ts';
import type { TrustedHosts } from '../trusted-hosts.ts';

/** The host resolves to a forbidden address. The message names the host, which comes from a config. */
export class AddressRefused extends Error {
  override name = 'AddressRefused';
}

/** The signature of `node:dns` lookup for all addresses of a name. */
export type Resolve = (
  host: string,
  options: LookupOptions & { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface GuardOptions {
  readonly trusted: TrustedHosts;
  readonly connectTimeoutMs: number;
  /** Default: the resolver of the system. */
  readonly resolve?: Resolve | undefined;
}

/**
 * Connects to one origin. The name is resolved once for each socket and rejected when any of its addresses is
 * forbidden; the socket connects only to checked addresses. The remote address is checked again afterwards, which
 * also covers literal addresses, for which nothing is resolved.
 */
export function createGuardedConnect(origin: URL, options: GuardOptions): buildConnector.connector {
  const { trusted, connectTimeoutMs: timeout, resolve = lookUp as Resolve } = options;
  const host = plainHost(origin);
  const port = Number(origin.port) || (origin.protocol === 'https:' ? 443 : 80);
  const refusalOf = (address: string): AddressRefused | null => {
    const fault = resolvedAddressFault({ host, port }, address, trusted);
    return fault === null ? null : new AddressRefused(`${origin.host} ${fault}`);
  };
  const lookup: LookupFunction = (name, lookupOptions, done) => {
    resolve(name, { ...lookupOptions, all: true }, (error, addresses) => {
      const refusal = error ?? firstRefusal(addresses, refusalOf);
      if (refusal !== null) return done(refusal, '');
      if (lookupOptions.all) return done(null, addresses);
      done(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
  const connect = buildConnector({ timeout, allowH2: false, lookup });
  return (target, done) => {
    const literal = isIP(host) === 0 ? null : refusalOf(host);
    if (literal !== null) return done(literal, null);
    connect(target, (...result) => {
      const [error, socket] = result;
      if (error !== null) return done(error, null);
      const refusal = refusalOf(socket.remoteAddress ?? '');
      if (refusal === null) {
        socket.once('error', renameReset);
        return done(null, socket);
      }
      socket.destroy();
      done(refusal, null);
    });
  };
}

/** undici treats ECONNRESET as the end of a response without a length, which would look complete. */
function renameReset(error: NodeJS.ErrnoException): void {
  if (error.code === 'ECONNRESET') error.code = 'CONNECTION_RESET';
}

function firstRefusal(
  addresses: readonly LookupAddress[],
  refusalOf: (address: string) => AddressRefused | null,
): Error | null {
  for (const { address } of addresses) {
    const refusal = refusalOf(address);
    if (refusal !== null) return refusal;
  }
  return null;
}

function plainHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '');
}
