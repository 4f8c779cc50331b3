/** Knows how a socket to a provider is opened: each address that its name has is judged, and no other is dialled. */
import { type LookupAddress, type LookupOptions, lookup as lookUp } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { resolvedAddressFault } from '../model/services/outbound-url.ts';
import type { TrustedHosts } from '../trusted-hosts.ts';

/** A host leads where the gateway must not call. The message names the host, which a config named. */
export class AddressRefused extends Error {
  override name = 'AddressRefused';
}

/** As `node:dns` has it, for all addresses of a name. */
export type Resolve = (
  host: string,
  options: LookupOptions & { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface GuardOptions {
  readonly trusted: TrustedHosts;
  readonly connectTimeoutMs: number;
  /** That of the system when absent. */
  readonly resolve?: Resolve | undefined;
}

/**
 * Connects to one origin. Its name is resolved once for each socket, and refused when any of its
 * addresses is; the socket goes to those that were judged. Where it ended up is judged once more,
 * which also covers addresses that are written out, for which nothing is resolved.
 */
export function createGuardedConnect(origin: URL, options: GuardOptions): buildConnector.connector {
  const { trusted, connectTimeoutMs: timeout, resolve = lookUp as Resolve } = options;
  const host = plainHost(origin);
  const port = Number(origin.port) || (origin.protocol === 'https:' ? 443 : 80);
  const refusalOf = (address: string): AddressRefused | null => {
    const fault = resolvedAddressFault({ host, port }, address, trusted);
    return fault === null ? null : new AddressRefused(`${origin.host} ${fault}`);
  };
  const lookup: LookupFunction = (name, asked, done) => {
    resolve(name, { ...asked, all: true }, (error, found) => {
      const refusal = error ?? firstRefusal(found, refusalOf);
      if (refusal !== null) return done(refusal, '');
      if (asked.all) return done(null, found);
      done(null, found[0]!.address, found[0]!.family);
    });
  };
  const connect = buildConnector({ timeout, allowH2: false, lookup });
  return (target, done) => {
    const literal = isIP(host) === 0 ? null : refusalOf(host);
    if (literal !== null) return done(literal, null);
    connect(target, (...[error, socket]) => {
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

/** What undici takes for the end of an answer that has no length, and passes on as if it were whole. */
function renameReset(error: NodeJS.ErrnoException): void {
  if (error.code === 'ECONNRESET') error.code = 'CONNECTION_RESET';
}

function firstRefusal(
  found: readonly LookupAddress[],
  refusalOf: (address: string) => AddressRefused | null,
): Error | null {
  for (const { address } of found) {
    const refusal = refusalOf(address);
    if (refusal !== null) return refusal;
  }
  return null;
}

function plainHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '');
}
