/** Selects the proxy of a request. */
/* undici's EnvHttpProxyAgent compares names and ports only; NO_PROXY also lists networks here. */
import { BlockList, isIP } from 'node:net';
import type { Secret } from '../secret.ts';

/** Proxies by protocol; undefined for none. */
export interface Proxies {
  /** For `http://` addresses. The URL may hold a password. */
  readonly http: Secret<URL> | undefined;
  /** For `https://` addresses. */
  readonly https: Secret<URL> | undefined;
  /** Hosts without a proxy: domains with subdomains, addresses, networks or `*`, each optionally with `:port`. */
  readonly exempt: readonly string[];
}

/** Addresses of this machine are never reached through a proxy. */
const loopback = ['localhost', '127.0.0.0/8', '[::1]'];

/** Null when the origin is reached directly. */
export function proxyOf({ http, https, exempt }: Proxies, origin: URL): Secret<URL> | null {
  const proxy = origin.protocol === 'https:' ? https : http;
  if (proxy === undefined) return null;
  return [...loopback, ...exempt].some((entry) => matchesEntry(entry, origin)) ? null : proxy;
}

const defaultPorts: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

function matchesEntry(entry: string, { protocol, hostname, port }: URL): boolean {
  const { host, port: onlyPort } = splitEntry(entry.toLowerCase());
  if (onlyPort !== null && onlyPort !== (port || defaultPorts[protocol])) return false;
  if (host === '*') return true;
  const name = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const family = isIP(name);
  if (family !== 0) return networkContains(host, name, family === 4 ? 'ipv4' : 'ipv6');
  const suffix = host.replace(/^\*?\.?/, '').replace(/\.$/, '');
  return suffix !== '' && (name === suffix || name.endsWith(`.${suffix}`));
}

/** Splits `[::1]:443`, `10.0.0.0/8` or `example.com:8080`; IPv6 without brackets has no port. */
function splitEntry(entry: string): { readonly host: string; readonly port: string | null } {
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(entry);
  return { host: match?.[1] ?? match?.[2] ?? entry, port: match?.[3] ?? null };
}

function networkContains(host: string, candidate: string, family: 'ipv4' | 'ipv6'): boolean {
  const [address = '', bits] = host.split('/');
  if (isIP(address) !== (family === 'ipv4' ? 4 : 6)) return false;
  const bitsMax = family === 'ipv4' ? 32 : 128;
  const prefix = Number(bits ?? bitsMax);
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > bitsMax) return false;
  const network = new BlockList();
  network.addSubnet(address, prefix, family);
  return network.check(candidate, family);
}
