/** Reaches the provider by TLS, with a certificate that can be exchanged. */
import { connect, type Socket } from 'node:net';
import { createServer } from 'node:tls';
import { createPki, type IssuedCertificate } from '../../support/callers/pki.ts';

type CertificateName = 'usual' | 'other' | 'expired';

export interface SecureProvider extends AsyncDisposable {
  readonly port: number;
  /** File with the authority of its certificates. */
  readonly caFile: string;
  /** New connections get this certificate; open ones go on. */
  present(certificate: CertificateName): void;
  /** Ends the open connections, so that callers need new ones. */
  dropConnections(): void;
}

/** `providerPort` is that of the provider without TLS; the certificates are for `host`. */
export async function startSecureProvider(
  providerPort: number,
  host: string,
): Promise<SecureProvider> {
  const pki = createPki();
  const authority = pki.authority('provider');
  const issue = (name: string, days: { fromDays?: number; untilDays?: number } = {}) =>
    authority.issue({ name, altNames: `DNS:${host}`, ...days });
  const certificates: Readonly<Record<CertificateName, IssuedCertificate>> = {
    usual: issue('usual'),
    other: issue('other'),
    expired: issue('expired', { fromDays: -30, untilDays: -1 }),
  };
  const sockets = new Set<Socket>();
  const server = createServer(certificates.usual, (socket) => {
    const onward = connect(providerPort, '127.0.0.1');
    for (const [end, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(end);
      end
        .on('error', () => undefined)
        .on('close', () => {
          other.destroy();
          sockets.delete(end);
        });
      end.pipe(other);
    }
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const dropConnections = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    caFile: authority.certPath,
    present: (name) => server.setSecureContext(certificates[name]),
    dropConnections,
    [Symbol.asyncDispose]: async () => {
      dropConnections();
      await new Promise((resolve) => server.close(resolve));
      pki[Symbol.dispose]();
    },
  };
}
