/** Parses the list of trusted private hosts, and recognises hosts that are never trusted. */
import { BlockList, isIP } from 'node:net';

/** One list entry: an exact host, `*.suffix`, an IP address or a network, optionally with a port. */
export interface TrustedHost {
  /** The entry as written, in lower case. */
  readonly text: string;
  /** Null when the entry has no port. */
  readonly port: number | null;
  /** `host` in lower case, IPv6 without brackets, as the URL parser writes it. */
  covers(host: string): boolean;
}

export type TrustedHosts = readonly TrustedHost[];

/** Completes "expected …". */
export const trustedHostsForm =
  'hosts separated by commas: names, *.suffixes, IP addresses or networks (10.0.0.0/8), ' +
  'each with :port if wanted (IPv6 then in brackets)';

/** The parsed list, or the entries that cannot be used. */
export type TrustedHostsReading =
  | { readonly hosts: TrustedHosts }
  /** Entries with an unknown form. */
  | { readonly malformed: readonly string[] }
  /** Entries that name a cloud metadata service. */
  | { readonly refused: readonly string[] };

/** Parses a comma-separated list. Metadata services stay blocked even if a suffix or network covers them. */
export function readTrustedHosts(text: string): TrustedHostsReading {
  const read = text.split(',').map((part) => {
    const entry = part.trim().toLowerCase();
    return { entry, parts: splitEntry(entry) };
  });
  const malformed = read.filter(({ parts }) => parts === null);
  if (malformed.length > 0) return { malformed: malformed.map(({ entry }) => entry) };
  const refused = read.filter(({ parts }) => isMetadataHost(parts!.host));
  if (refused.length > 0) return { refused: refused.map(({ entry }) => entry) };
  const hosts = read.map(({ entry, parts }) => ({
    text: entry,
    port: parts!.port,
    covers: hostMatcher(parts!.host),
  }));
  return { hosts };
}

/** Whether the list covers host and port of the address. */
export function coversAddress(hosts: TrustedHosts, { hostname, port, protocol }: URL): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '');
  const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
  return hosts.some(
    (entry) => entry.covers(host) && (entry.port === null || entry.port === number),
  );
}

/**
 * Returns why an address whose response proves an identity, such as published keys, is refused, or null.
 * Anybody on the path could replace what plain HTTP transfers, except to a trusted host.
 */
export function plainHttpFault(text: string, trusted: TrustedHosts): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.protocol !== 'http:') return null;
  if (coversAddress(trusted, url)) return null;
  return 'must begin with https://, or TRUSTED_CUSTOM_HOSTS must list its host';
}

const hostName =
  /^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/;

/** Splits an entry into host (IPv6 without brackets) and port; null if the form is unknown. */
function splitEntry(entry: string): { host: string; port: number | null } | null {
  const isBare6 = isIP(entry.split('/')[0]!) === 6;
  const found = isBare6
    ? { host: entry, port: undefined }
    : /^(?<host>[^:[\]]+|\[[^\]]+\])(?::(?<port>\d{1,5}))?$/.exec(entry)?.groups;
  if (found?.host === undefined) return null;
  const port = found.port === undefined ? null : Number(found.port);
  if (port === 0 || (port !== null && port > 65_535)) return null;
  const host = found.host.replace(/^\[|\]$/g, '');
  return isHost(host, host !== found.host) ? { host: plainHost(host), port } : null;
}

function isHost(host: string, isBracketed: boolean): boolean {
  const [address = '', bits] = host.split('/');
  const family = isIP(address);
  if ((family === 4 && isBracketed) || address.includes('%')) return false;
  if (family !== 0) return bits === undefined || isPrefixLength(bits, family === 4 ? 32 : 128);
  // The URL parser reads a name that ends in a number as an IPv4 address.
  return !isBracketed && hostName.test(host) && !/(?:^|\.)(?:\d+|0x[\da-f]*)$/.test(host);
}

function isPrefixLength(text: string, most: number): boolean {
  return /^\d{1,3}$/.test(text) && Number(text) <= most;
}

/** Normalises an IPv6 address to the spelling of the URL parser, so that other spellings match too. */
function plainHost(host: string): string {
  return isIP(host) === 6 && URL.canParse(`http://[${host}]`)
    ? new URL(`http://[${host}]`).hostname.slice(1, -1)
    : host;
}

function hostMatcher(host: string): (candidate: string) => boolean {
  if (host.startsWith('*.')) return (candidate) => candidate.endsWith(host.slice(1));
  const [address = '', bits = isIP(address) === 4 ? '32' : '128'] = host.split('/');
  if (isIP(address) === 0) return (candidate) => candidate === host;
  const network = networkList([`${address}/${bits}`]);
  return (candidate) => isInNetworks(network, candidate);
}

/** Addresses at which clouds provide credentials; no list allows them. */
const metadataAddresses = networkList([
  '169.254.0.0/16',
  '100.100.100.200/32',
  '168.63.129.16/32',
  'fd00:ec2::254/128',
  'fe80::/10',
]);
const metadataNames = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
]);

/** `host` in lower case, IPv6 without brackets, as the URL parser writes it. */
export function isMetadataHost(host: string): boolean {
  if (metadataNames.has(host)) return true;
  return (
    isInNetworks(metadataAddresses, host) || isInNetworks(metadataAddresses, embeddedAddress(host))
  );
}

/**
 * The IPv4 address inside an IPv6 address that maps (::ffff:a.b.c.d), embeds (::a.b.c.d), translates
 * (64:ff9b::) or tunnels (2002::) it, so that other spellings match too; otherwise the host itself.
 */
export function embeddedAddress(host: string): string {
  if (isIP(host) !== 6) return host;
  const groups = expandIpv6(host);
  const head = groups
    .slice(0, 6)
    .map((group) => group.toString(16))
    .join(':');
  const carriers = ['0:0:0:0:0:ffff', '0:0:0:0:0:0', '64:ff9b:0:0:0:0'];
  const [high, low] = groups[0] === 0x2002 ? groups.slice(1, 3) : groups.slice(6);
  if (!carriers.includes(head) && groups[0] !== 0x2002) return host;
  return [high! >> 8, high! & 255, low! >> 8, low! & 255].join('.');
}

/** The URL parser has already converted a dotted tail to two groups. */
function expandIpv6(host: string): number[] {
  const [head = '', tail] = host.split('::');
  const read = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const before = read(head);
  const after = tail === undefined ? [] : read(tail);
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/** False when the host is not an IP address. */
export function isInNetworks(networks: BlockList, host: string): boolean {
  const family = isIP(host);
  return family !== 0 && networks.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/** Builds a list from networks such as `10.0.0.0/8`. */
export function networkList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address, bits] = network.split('/');
    // BlockList validates addresses itself; calling isIP first compiles a pattern at every start.
    list.addSubnet(address!, Number(bits), address!.includes(':') ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** Whether an address names this machine, so that plain HTTP to it leaves the machine unread. */
export function isOfThisMachine({ hostname }: Pick<URL, 'hostname'>): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}
