/** Checks the addresses that the gateway may call, by their text alone, without DNS. */
import { isIP } from 'node:net';
import {
  embeddedAddress,
  isInNetworks,
  isMetadataHost,
  networkList,
  type TrustedHost,
  type TrustedHosts,
} from '../../trusted-hosts.ts';

const urlLengthMax = 2048;

/** IPv4 networks that are not the public Internet. */
const privateNetworks4 = networkList([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  '168.63.129.16/32',
]);

/** Everything except 2000::/3, plus the documentation and IPv4-embedding networks within it. */
const privateNetworks6 = networkList([
  '::/3',
  '4000::/2',
  '8000::/1',
  '2001::/32',
  '2001:db8::/32',
  '2002::/16',
]);

/**
 * Names that resolve only within a machine, a cluster or a company: single labels, names below
 * reserved domains (`cluster.local`, `docker.internal`), and Kubernetes services under any cluster
 * domain (`db.default.svc.acme.example`).
 */
const privateName =
  /^[^.]*$|\.(?:localhost|local|localdomain|internal|intranet|private|lan|home|corp|home\.arpa|svc|default)$|\.svc\./;
/** Endings of public domains. A name with another ending, such as `db.kube-system`, is cluster-internal. */
const publicEnding = /\.(?:[a-z]{2,63}|xn--[a-z0-9-]{1,59})$/;

/** Ports of services that could mistake a request for a command; a trusted entry may name one. */
const servicePorts = new Set([
  21, 22, 23, 25, 53, 110, 111, 135, 139, 143, 389, 445, 465, 587, 636, 873, 993, 995, 1433, 1521,
  2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 5432, 5672, 5900, 5984, 6379, 6443, 7001, 9042,
  9092, 9200, 9300, 10250, 10255, 11211, 27017, 27018,
]);

/** Trusts every host except cloud metadata, for services that usually run in private networks. */
export const anyHost: TrustedHosts = [{ text: '*', port: null, covers: () => true }];

/**
 * Returns why an address that an administrator configures is rejected, or null. Public host names are
 * accepted, others if they are trusted. Resolved addresses are checked when the host is called.
 */
export function outboundUrlFault(text: string, trusted: TrustedHosts): string | null {
  if (text.length > urlLengthMax) return `must have at most ${urlLengthMax} characters`;
  if (/[\s\\\u0000-\u0020\u007f]/.test(text)) {
    return 'must not contain spaces, control characters or backslashes';
  }
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) return 'must be an absolute URL';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https or http';
  if (!/^https?:\/\/[^/]/i.test(text)) return 'must name a host after https://';
  if (url.username !== '' || url.password !== '' || /^[^/?#]*\/\/[^/?#]*@/.test(text)) {
    return 'must not contain user information; give credentials as headers';
  }
  if (text.includes('#')) return 'must not have a fragment';
  return hostFault(url, trusted);
}

function hostFault(url: URL, trusted: TrustedHosts): string | null {
  const host = url.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.+$/, '')
    .toLowerCase();
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  if (isMetadataHost(host)) {
    return 'must not name a cloud metadata service';
  }
  if (trusted.some((entry) => entry.covers(host) && coversPort(entry, port))) return null;
  if (port === 0 || servicePorts.has(port)) return `must not use port ${port}`;
  if (isIP(host) === 0 ? isPrivateName(host) : isPrivate(host)) {
    return 'must not name a private, local or cluster-internal host unless TRUSTED_CUSTOM_HOSTS lists it, as in TRUSTED_CUSTOM_HOSTS=127.0.0.1 in the environment of the server';
  }
  return null;
}

/**
 * Returns why a resolved address is rejected, or null. A trusted name may resolve to a private address
 * but never to a metadata service. `address` has the form that the resolver returns.
 */
export function resolvedAddressFault(
  target: { readonly host: string; readonly port: number },
  address: string,
  trusted: TrustedHosts,
): string | null {
  const plain = plainAddress(address);
  if (plain === null || isMetadataHost(plain)) return 'resolves to a cloud metadata service';
  const isTrusted = trusted.some(
    (entry) =>
      (entry.covers(target.host) || entry.covers(plain) || entry.covers(embeddedAddress(plain))) &&
      coversPort(entry, target.port),
  );
  if (isTrusted || !isPrivate(plain)) return null;
  return 'resolves to a private address, and TRUSTED_CUSTOM_HOSTS does not list it';
}

/** The address as the URL parser spells it; null for a link-local address with a zone. */
function plainAddress(address: string): string | null {
  if (isIP(address) !== 6) return address;
  return URL.canParse(`http://[${address}]`)
    ? new URL(`http://[${address}]`).hostname.slice(1, -1)
    : null;
}

/** An entry without a port covers every port except service ports. */
function coversPort(entry: TrustedHost, port: number): boolean {
  return entry.port === null ? !servicePorts.has(port) : entry.port === port;
}

function isPrivateName(host: string): boolean {
  return privateName.test(host) || !publicEnding.test(host);
}

/** Only the mapped IPv6 spelling of an IPv4 address is treated as IPv4; the others count as private. */
function isPrivate(host: string): boolean {
  const address = embeddedAddress(host);
  const mapped = address !== host && host.startsWith('::ffff:');
  const effective = mapped ? address : host;
  return isInNetworks(isIP(effective) === 4 ? privateNetworks4 : privateNetworks6, effective);
}
