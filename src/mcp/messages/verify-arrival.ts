/** Verifies a request before anything is known of its caller: where it was sent, from which page, and in which form. */
import type { IncomingMessage } from 'node:http';
import { PlaneFault } from './plane-fault.ts';
import { isModernVersion } from './verify-headers.ts';

const methods = 'GET, POST, DELETE';
const loopbackAddress = /^(?:::ffff:)?127\.|^::1$/;
const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** @throws PlaneFault for a host or a page that the gateway does not know, and a wrong method or form */
export function verifyArrival(request: IncomingMessage, hosts: ReadonlySet<string>): void {
  const { method, headers } = request;
  verifyHost(request, hosts);
  verifyOrigin(headers.origin, hosts);
  if (method !== 'POST' && method !== 'GET' && method !== 'DELETE') throw methodFault(methods);
  const version = headers['mcp-protocol-version'];
  if (method !== 'POST' && typeof version === 'string' && isModernVersion(version)) {
    throw methodFault('POST');
  }
  if (method === 'POST') verifyForm(request);
  const wanted =
    method === 'POST' ? ['application/json', 'text/event-stream'] : ['text/event-stream'];
  if (method !== 'DELETE' && !accepts(headers.accept, wanted)) {
    throw new PlaneFault('not_acceptable', `Accept must include ${wanted.join(' and ')}`);
  }
}

/**
 * A page that has taken over a name can reach a listener on this machine. There, other names than those of
 * this machine must be allowed by GATEWRIGHT_MCP_HOSTS.
 */
function verifyHost({ headers, socket }: IncomingMessage, hosts: ReadonlySet<string>): void {
  if (!loopbackAddress.test(socket.localAddress ?? '')) return;
  const name = hostName(headers.host ?? '');
  if (name === '' || loopbackHost.test(name) || hosts.has(name)) return;
  const message = 'The Host is not this machine; allow it by GATEWRIGHT_MCP_HOSTS';
  throw new PlaneFault('origin_forbidden', message);
}

function verifyOrigin(origin: string | undefined, hosts: ReadonlySet<string>): void {
  if (origin === undefined) return;
  const url = URL.parse(origin);
  const isPage = url !== null && /^https?:$/.test(url.protocol) && url.origin === origin;
  if (isPage && (loopbackHost.test(url.hostname) || hosts.has(url.hostname))) return;
  const message = 'Pages of this Origin may not call the gateway; allow it by GATEWRIGHT_MCP_HOSTS';
  throw new PlaneFault('origin_forbidden', message);
}

/** Parsing takes longer than the rest of the checks, and callers send few different values. */
const hostNames = new Map<string, string>();
const hostNamesMax = 100;

function hostName(host: string): string {
  const known = hostNames.get(host);
  if (known !== undefined) return known;
  const name = (URL.parse(`http://${host}`)?.hostname ?? host).toLowerCase();
  if (hostNames.size < hostNamesMax) hostNames.set(host, name);
  return name;
}

function methodFault(allow: string): PlaneFault {
  const message = `The method must be one of ${allow}`;
  return new PlaneFault('method_not_allowed', message, { headers: { allow } });
}

const jsonType = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

function verifyForm({ headers }: IncomingMessage): void {
  if (!jsonType.test(headers['content-type'] ?? '')) {
    throw new PlaneFault('content_type', 'The content type must be application/json');
  }
  if (headers['content-encoding'] !== undefined) {
    throw new PlaneFault('content_type', 'The body must be sent without a content encoding');
  }
}

/** Whether the caller accepts any of the types; clients that send none or few accept what comes. */
function accepts(header: string | undefined, types: readonly string[]): boolean {
  if (header === undefined || header === '') return true;
  // Most clients send the types as the specification writes them.
  if (types.some((type) => header.startsWith(type))) return true;
  const ranges = header.split(',').map((range) => range.split(';')[0]!.trim().toLowerCase());
  return types.some((type) =>
    ranges.some(
      (range) => range === '*/*' || range === type || range === `${type.split('/')[0]}/*`,
    ),
  );
}
