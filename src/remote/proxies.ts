/** Knows which requests go through a proxy. */
import { BlockList, isIP } from 'node:net';
import type { Secret } from '../secret.ts';

/** Where requests go first; undefined: nowhere. */
export interface Proxies {
  /** For `http://` addresses. The URL may hold a password. */
  readonly http: Secret<URL> | undefined;
  /** For `https://` addresses. */
  readonly https: Secret<URL> | undefined;
  /** Hosts that are reached without: names with all below them, addresses, networks, `*`; each with `:port` if wanted. */
  readonly exempt: readonly string[];
}

/** Nothing else on this machine is ever meant. */
const loopback = ['localhost', '127.0.0.0/8', '[::1]'];

/** Null where the origin is reached without one. */
export function proxyOf({ http, https, exempt }: Proxies, origin: URL): Secret<URL> | null {
  const proxy = origin.protocol === 'https:' ? https : http;
  if (proxy === undefined) return null;
  return [...loopback, ...exempt].some((entry) => covers(entry, origin)) ? null : proxy;
}

const usualPorts: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

function covers(entry: string, { protocol, hostname, port }: URL): boolean {
  const { host, port: onlyPort } = parts(entry.toLowerCase());
  if (onlyPort !== null && onlyPort !== (port || usualPorts[protocol])) return false;
  if (host === '*') return true;
  const asked = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const family = isIP(asked);
  if (family !== 0) return coversAddress(host, asked, family === 4 ? 'ipv4' : 'ipv6');
  const suffix = host.replace(/^\*?\.?/, '').replace(/\.$/, '');
  return suffix !== '' && (asked === suffix || asked.endsWith(`.${suffix}`));
}

/** `[::1]:443`, `10.0.0.0/8`, `example.com:8080`; of IPv6 without brackets no part is a port. */
function parts(entry: string): { readonly host: string; readonly port: string | null } {
  const found = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(entry);
  return { host: found?.[1] ?? found?.[2] ?? entry, port: found?.[3] ?? null };
}

function coversAddress(host: string, asked: string, family: 'ipv4' | 'ipv6'): boolean {
  const [address = '', bits] = host.split('/');
  if (isIP(address) !== (family === 'ipv4' ? 4 : 6)) return false;
  const most = family === 'ipv4' ? 32 : 128;
  const prefix = Number(bits ?? most);
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > most) return false;
  const network = new BlockList();
  network.addSubnet(address, prefix, family);
  return network.check(asked, family);
}
