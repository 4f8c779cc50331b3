/** Knows every environment variable, its form and default: the only reader of the environment. */
import type { Secret } from './secret.ts';

export type DatabaseTlsMode =
  | 'DISABLED'
  | 'PREFERRED'
  | 'REQUIRED'
  | 'VERIFY_CA'
  | 'VERIFY_IDENTITY'
  | 'Amazon RDS';

/** One database endpoint. Either `host` and `port`, or `socketPath`, is used. */
export interface DatabaseSettings {
  readonly host: string;
  readonly port: number;
  readonly socketPath: string | null;
  readonly user: string;
  readonly password: Secret | undefined;
  readonly name: string;
  readonly poolSize: number;
  readonly tls: {
    readonly mode: DatabaseTlsMode;
    /** PEM text, already validated. */
    readonly ca: string | null;
    readonly cert: string | null;
    readonly key: Secret | null;
  };
}
