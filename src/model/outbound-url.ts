/** Knows which addresses the gateway may be told to call, judged by their text alone, without DNS. */
import { BlockList, isIP } from 'node:net';

const urlLengthMax = 2048;

/** IPv4 networks that are not the public Internet (reliability.md 7.5). */
const privateNetworks4 = blockList([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16'],
  ...['172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/3', '168.63.129.16/32'],
]);

/** All but 2000::/3, and of that what is documentation or carries IPv4 in it. */
const privateNetworks6 = blockList([
  ...['::/3', '4000::/2', '8000::/1'],
  ...['2001::/32', '2001:db8::/32', '2002::/16'],
]);

/** Addresses at which clouds hand out credentials: no allow-list opens them. */
const metadataAddresses = blockList([
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
const localName = /^(?:.+\.)?localhost$/;

/** Ports of services that answer to text they mistake for a command; a trusted entry may name one. */
const servicePorts = new Set([
  ...[21, 22, 23, 25, 53, 110, 111, 135, 139, 143, 389, 445, 465, 587, 636, 873, 993, 995],
  ...[1433, 1521, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 5432, 5672, 5900, 5984],
  ...[6379, 6443, 7001, 9042, 9092, 9200, 9300, 10250, 10255, 11211, 27017, 27018],
]);

/** Entries of TRUSTED_CUSTOM_HOSTS: exact host, `*.suffix`, IP address or CIDR, each with an optional port. */
export type TrustedHosts = readonly string[];

/**
 * The entries that name a host at which a cloud hands out credentials. A suffix or network may
 * cover such hosts; they stay refused.
 */
export function neverTrusted(entries: TrustedHosts): string[] {
  return entries.filter((entry) => isMetadataHost(splitPort(entry).host));
}

/**
 * What is wrong with an address an administrator gives, or null. Public host names are accepted as
 * they are; what they resolve to is judged when they are called.
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
    .replace(/\.$/, '')
    .toLowerCase();
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  if (isMetadataHost(host)) {
    return 'must not name a cloud metadata service';
  }
  const entry = trusted.map(readTrusted).find((known) => known.matches(host, port));
  if (entry !== undefined) return null;
  if (port === 0 || servicePorts.has(port)) return `must not use port ${port}`;
  if (localName.test(host) || isPrivate(host)) {
    return 'must not name a private or local address unless TRUSTED_CUSTOM_HOSTS lists it';
  }
  return null;
}

function isMetadataHost(host: string): boolean {
  if (metadataNames.has(host)) return true;
  return within(metadataAddresses, host) || within(metadataAddresses, embeddedAddress(host));
}

/** Of the IPv6 spellings of an IPv4 address only the mapped one stands for it; the others are refused. */
function isPrivate(host: string): boolean {
  const address = embeddedAddress(host);
  const mapped = address !== host && host.startsWith('::ffff:');
  const judged = mapped ? address : host;
  return within(isIP(judged) === 4 ? privateNetworks4 : privateNetworks6, judged);
}

interface TrustedEntry {
  matches(host: string, port: number): boolean;
}

/** Without a port the entry covers every port that is not a service port. */
function readTrusted(entry: string): TrustedEntry {
  const { host, port } = splitPort(entry.trim().toLowerCase());
  const covers = hostMatcher(host);
  return {
    matches: (candidate, candidatePort) =>
      (port === null ? !servicePorts.has(candidatePort) : port === candidatePort) &&
      covers(candidate),
  };
}

function splitPort(entry: string): { host: string; port: number | null } {
  const parts = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(entry);
  const host = (parts?.[1] ?? entry).replace(/^\[|\]$/g, '').replace(/\.$/, '');
  return { host, port: parts === null ? null : Number(parts[2]) };
}

function hostMatcher(host: string): (candidate: string) => boolean {
  if (host.startsWith('*.')) return (candidate) => candidate.endsWith(host.slice(1));
  const [address = '', bits = isIP(address) === 4 ? '32' : '128'] = host.split('/');
  if (isIP(address) !== 0 && /^\d{1,3}$/.test(bits)) {
    const network = blockList([`${address}/${bits}`]);
    return (candidate) => within(network, candidate);
  }
  return (candidate) => candidate === host;
}

/**
 * The IPv4 address inside an IPv6 one that maps (::ffff:a.b.c.d), embeds (::a.b.c.d), translates
 * (64:ff9b::) or tunnels (2002::) it, so that no spelling hides it; else the host itself.
 */
function embeddedAddress(host: string): string {
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

function within(networks: BlockList, host: string): boolean {
  const family = isIP(host);
  return family !== 0 && networks.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address, bits] = network.split('/');
    const family = isIP(address!) === 4 ? 'ipv4' : 'ipv6';
    list.addSubnet(address!, Number(bits), family);
  }
  return list;
}
