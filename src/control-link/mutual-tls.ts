/** Accepts TLS connections of peers whose certificates are issued by known authorities and contain an allowed name. */
import type { Server, Socket } from 'node:net';
import { createServer, type SecureContextOptions, type TLSSocket } from 'node:tls';
import type { LinkCertificates } from '../settings/groups/control-link.ts';

export interface MutualTlsOptions {
  /** Reads the certificates again. @throws when they are not usable */
  readonly readCertificates: () => LinkCertificates;
  /** DNS names in lower case, of which a certificate must contain one. */
  readonly clientNames: readonly string[];
  /** Reports a peer that was refused, with the reason. */
  readonly onRefused: (reason: string, remoteAddress: string) => void;
  /** Reports that changed certificates are not usable; the previous ones are used on. */
  readonly onUnusable: (error: unknown) => void;
}

/** Interval of reading certificates again. */
const renewEveryMs = 30_000;
const handshakeMs = 10_000;

/** The options of a TLS context; only TLS 1.3, since both sides are gatewright. */
export function contextOf({ ca, cert, key }: LinkCertificates): SecureContextOptions {
  return { ca, cert, key: key.reveal(), minVersion: 'TLSv1.3' };
}

/** Calls `accept` for each connection of an allowed peer, and closes all others. */
export function mutualTlsListener(
  options: MutualTlsOptions,
  accept: (socket: Socket) => void,
): Server {
  let current = options.readCertificates();
  const server = createServer({
    ...contextOf(current),
    requestCert: true,
    rejectUnauthorized: true,
    handshakeTimeout: handshakeMs,
  });
  server.on('secureConnection', (socket) => {
    const fault = faultOfPeer(socket, options.clientNames);
    if (fault === null) return accept(socket);
    options.onRefused(fault, socket.remoteAddress ?? '');
    socket.destroy();
  });
  server.on('tlsClientError', (error, socket) =>
    options.onRefused(error.message, socket.remoteAddress ?? ''),
  );
  const renewal = setInterval(() => {
    try {
      const next = options.readCertificates();
      if (isSame(next, current)) return;
      server.setSecureContext(contextOf(next));
      current = next;
    } catch (error) {
      options.onUnusable(error);
    }
  }, renewEveryMs).unref();
  return server.on('close', () => clearInterval(renewal));
}

/** Null for an allowed peer. The handshake has verified the issuer and the dates. */
function faultOfPeer(socket: TLSSocket, clientNames: readonly string[]): string | null {
  const certificate = socket.getPeerX509Certificate();
  const rules = { subject: 'never', wildcards: false } as const;
  const isAllowed = clientNames.some((name) => certificate?.checkHost(name, rules) !== undefined);
  if (isAllowed) return null;
  const found = certificate?.subjectAltName ?? 'no name';
  return `the certificate is for ${found}, and for none of ${clientNames.join(', ')}`;
}

/** Whether both have the same texts. */
export function isSame(one: LinkCertificates, other: LinkCertificates): boolean {
  return one.ca === other.ca && one.cert === other.cert && one.key.reveal() === other.key.reveal();
}
