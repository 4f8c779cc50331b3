/** Knows which addresses the gateway may be told to call, judged by their text alone, without DNS. */
import { isIP } from 'node:net';
import {
  embeddedAddress,
  isMetadataHost,
  isWithin,
  networkList,
  type TrustedHost,
  type TrustedHosts,
} from '../../trusted-hosts.ts';

const urlLengthMax = 2048;

/** IPv4 networks that are not the public Internet. */
const privateNetworks4 = networkList([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16'],
  ...['172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/3', '168.63.129.16/32'],
]);

/** All but 2000::/3, and of that what is documentation or carries IPv4 in it. */
const privateNetworks6 = networkList([
  ...['::/3', '4000::/2', '8000::/1'],
  ...['2001::/32', '2001:db8::/32', '2002::/16'],
]);

/**
 * Names that only mean something within a machine, a cluster or a company: of a single label, below
 * domains that are kept for such use (`cluster.local`, `docker.internal`), and services of Kubernetes
 * under any domain of the cluster (`db.default.svc.acme.example`).
 */
const privateName =
  /^[^.]*$|\.(?:localhost|local|localdomain|internal|intranet|private|lan|home|corp|home\.arpa|svc|default)$|\.svc\./;
/** No public domain ends in anything else, so a name such as `db.kube-system` is one of a cluster. */
const publicEnding = /\.(?:[a-z]{2,63}|xn--[a-z0-9-]{1,59})$/;

/** Ports of services that answer to text they mistake for a command; a trusted entry may name one. */
const servicePorts = new Set([
  ...[21, 22, 23, 25, 53, 110, 111, 135, 139, 143, 389, 445, 465, 587, 636, 873, 993, 995],
  ...[1433, 1521, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 5432, 5672, 5900, 5984],
  ...[6379, 6443, 7001, 9042, 9092, 9200, 9300, 10250, 10255, 11211, 27017, 27018],
]);

/** For what stands in private networks as a rule: every host but those of cloud metadata. */
export const anyHost: TrustedHosts = [{ text: '*', port: null, covers: () => true }];

/**
 * What is wrong with an address an administrator gives, or null. Public host names are accepted as
 * they are, others where they are trusted; what they resolve to is judged when they are called.
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
    return 'must not name a private, local or cluster-internal host unless TRUSTED_CUSTOM_HOSTS lists it';
  }
  return null;
}

/**
 * What is wrong with an address that a host was resolved to, or null. A name that is trusted may lead
 * to a private address, never to a metadata service; `address` as the resolver writes it.
 */
export function resolvedAddressFault(
  target: { readonly host: string; readonly port: number },
  address: string,
  trusted: TrustedHosts,
): string | null {
  const plain = plainAddress(address);
  if (plain === null || isMetadataHost(plain)) return 'leads to a cloud metadata service';
  const isTrusted = trusted.some(
    (entry) =>
      (entry.covers(target.host) || entry.covers(plain) || entry.covers(embeddedAddress(plain))) &&
      coversPort(entry, target.port),
  );
  if (isTrusted || !isPrivate(plain)) return null;
  return 'leads to a private address, and TRUSTED_CUSTOM_HOSTS does not list it';
}

/** In the one spelling of the URL parser; null for what has a zone and so is local to a link. */
function plainAddress(address: string): string | null {
  if (isIP(address) !== 6) return address;
  return URL.canParse(`http://[${address}]`)
    ? new URL(`http://[${address}]`).hostname.slice(1, -1)
    : null;
}

/** Without a port the entry covers every port that is not a service port. */
function coversPort(entry: TrustedHost, port: number): boolean {
  return entry.port === null ? !servicePorts.has(port) : entry.port === port;
}

function isPrivateName(host: string): boolean {
  return privateName.test(host) || !publicEnding.test(host);
}

/** Of the IPv6 spellings of an IPv4 address only the mapped one stands for it; the others are refused. */
function isPrivate(host: string): boolean {
  const address = embeddedAddress(host);
  const mapped = address !== host && host.startsWith('::ffff:');
  const judged = mapped ? address : host;
  return isWithin(isIP(judged) === 4 ? privateNetworks4 : privateNetworks6, judged);
}
