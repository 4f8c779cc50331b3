/** Defines what a wire format determines: credential headers, account headers and paths. */

/** Account fields of a target by their names in a config. */
export type DialectAccount = Readonly<Record<string, string>>;

export interface Dialect {
  credentialHeaders(credential: string): Record<string, string>;
  accountHeaders(account: DialectAccount): Record<string, string>;
  /** Further request headers that are forwarded. */
  readonly passedHeaders: readonly string[];
  /** Default headers, which caller and target can override. */
  readonly usualHeaders: Readonly<Record<string, string>>;
  /** Path below the base address; `path` is the requested path below `/v1`, with its query. */
  pathOf(path: string, account: DialectAccount, model: string | null): string;
}
