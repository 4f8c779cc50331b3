/** Defines the accounts that checks use besides a plain key: of AWS, of Entra ID, and of providers of the workspace. */
import type { CheckTenant } from '../check.ts';
import type { RequestSigner } from './remote-service.ts';

/** A login at AWS. Missing fields are empty. */
export interface AwsCheckLogin {
  /** `accessKey` or `assumedRole`. */
  readonly authType: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  readonly roleArn: string;
  readonly externalId: string;
}

/** A client of Entra ID. */
export interface EntraCheckLogin {
  readonly tenantId: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The account of a provider. */
export interface ProviderCheckAccount {
  /** `@` and the id of the provider. */
  readonly name: string;
  /** `openai`, `bedrock`. */
  readonly service: string;
  /** Differs between versions of the account; contains no secret. */
  readonly mark: string;
  /** Address with path, without a slash at its end; null for the usual one. */
  readonly customHost: string | null;
  /** Account fields by their names in a config. */
  readonly fields: Readonly<Record<string, string>>;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null for an account without a key. */
  readonly key: string | null;
  /** Access token; null for an account that has a key. */
  readonly token: string | null;
  /** Null for an account that needs no signatures. */
  signerIn(region: string): RequestSigner | null;
}

export interface ServiceAccounts {
  signerOf(login: AwsCheckLogin, region: string): RequestSigner;
  /** @throws CheckError when Entra ID grants no token */
  entraToken(login: EntraCheckLogin): Promise<string>;
  /**
   * Returns the provider with the slug, or without one the first provider at one of the services, in their order.
   * Null when there is none.
   *
   * @throws CheckError when the provider cannot be used
   */
  providerOf(
    tenant: CheckTenant,
    slug: string | null,
    services: readonly string[],
  ): Promise<ProviderCheckAccount | null>;
}
