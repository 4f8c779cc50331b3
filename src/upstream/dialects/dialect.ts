/** Knows what a wire format is to the gateway: how a credential is shown, and what goes along with a request. */

/** What a target says of the account at the provider, by the names of a config. */
export type DialectAccount = Readonly<Record<string, string>>;

export interface Dialect {
  credentialHeaders(credential: string): Record<string, string>;
  accountHeaders(account: DialectAccount): Record<string, string>;
  /** Of the caller, beside those of every request. */
  readonly passedHeaders: readonly string[];
  /** Where neither caller nor target says otherwise. */
  readonly usualHeaders: Readonly<Record<string, string>>;
  /** Behind the base address; `path` is that of the caller behind `/v1`, with its query. */
  pathOf(path: string, account: DialectAccount, model: string | null): string;
}
