/** Knows the hosts that a deployment trusts though they are private, and those that nobody may trust. */
import { BlockList, isIP } from 'node:net';

/** One entry of the list: an exact host, `*.suffix`, an IP address or a network, perhaps with a port. */
export interface TrustedHost {
  /** As it was written, in lower case. */
  readonly text: string;
  /** Null where the entry names none. */
  readonly port: number | null;
  /** `host` in lower case, IPv6 without brackets, as the URL parser writes it. */
  covers(host: string): boolean;
}

export type TrustedHosts = readonly TrustedHost[];

/** Completes "expected …". */
export const trustedHostsForm =
  'hosts separated by commas: names, *.suffixes, IP addresses or networks (10.0.0.0/8), ' +
  'each with :port if wanted (IPv6 then in brackets)';

/** What a list holds, or why it cannot be used. */
export type TrustedHostsReading =
  | { readonly hosts: TrustedHosts }
  /** Entries of no known form. */
  | { readonly malformed: readonly string[] }
  /** Entries that name a cloud metadata service. */
  | { readonly refused: readonly string[] };

/** Reads a list separated by commas. A suffix or network may cover a metadata service; it stays refused. */
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

const hostName =
  /^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/;

/** Host, IPv6 without brackets, and port of an entry; null when it has no known form. */
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
  // A name that ends in a number would be read as an IPv4 address.
  return !isBracketed && hostName.test(host) && !/(?:^|\.)(?:\d+|0x[\da-f]*)$/.test(host);
}

function isPrefixLength(text: string, most: number): boolean {
  return /^\d{1,3}$/.test(text) && Number(text) <= most;
}

/** An IPv6 address in the one spelling that the URL parser has for it, so that no other hides it. */
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
  return (candidate) => isWithin(network, candidate);
}

/** Addresses at which clouds hand out credentials: no allow-list opens them. */
const metadataAddresses = networkList([
  ...['169.254.0.0/16', '100.100.100.200/32', '168.63.129.16/32', 'fd00:ec2::254/128'],
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
  return isWithin(metadataAddresses, host) || isWithin(metadataAddresses, embeddedAddress(host));
}

/**
 * The IPv4 address inside an IPv6 one that maps (::ffff:a.b.c.d), embeds (::a.b.c.d), translates
 * (64:ff9b::) or tunnels (2002::) it, so that no spelling hides it; else the host itself.
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

/** The URL parser has already written any dotted tail as two groups. */
function expandIpv6(host: string): number[] {
  const [head = '', tail] = host.split('::');
  const read = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const before = read(head);
  const after = tail === undefined ? [] : read(tail);
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/** False for a host that is no address. */
export function isWithin(networks: BlockList, host: string): boolean {
  const family = isIP(host);
  return family !== 0 && networks.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/** `networks` in the form `10.0.0.0/8`. */
export function networkList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address, bits] = network.split('/');
    // What the list takes it checks itself: to ask Node first makes it compile a pattern at every start.
    list.addSubnet(address!, Number(bits), address!.includes(':') ? 'ipv6' : 'ipv4');
  }
  return list;
}
