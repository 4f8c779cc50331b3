/** Defines what a wire format determines: credential headers, account headers, paths and members of bodies. */

/** Account fields of a target by their names in a config. */
export type DialectAccount = Readonly<Record<string, string>>;

/** A request in the format of the provider. */
export interface DialectRequest {
  /** Path below `/v1` of the gateway, with its query. */
  readonly path: string;
  readonly account: DialectAccount;
  readonly model: string | null;
  /** Members of the body; empty when it is not JSON. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Headers that the caller has sent, names in lower case. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
}

/** Members to set in the body of a request; undefined removes one. */
export type MemberChanges = ReadonlyMap<string, unknown>;

export interface Dialect {
  credentialHeaders(credential: string): Record<string, string>;
  accountHeaders(account: DialectAccount): Record<string, string>;
  /** Further request headers that are forwarded. */
  readonly passedHeaders: readonly string[];
  /** Request headers that select a part of an account, forwarded only with the caller's own credential. */
  readonly passedWithOwnAccount?: readonly string[];
  /** Default headers, which caller and target can override. */
  readonly usualHeaders: Readonly<Record<string, string>>;
  /**
   * Path below the base address.
   *
   * @throws NotServed when the provider has no such path, or the account lacks a field
   */
  pathOf(request: DialectRequest): string;
  /** Returns the members of a JSON body that differ at the provider; null for none. */
  changesOf?(request: DialectRequest): MemberChanges | null;
}

/** A provider cannot receive a request. */
export class NotServed extends Error {
  override name = 'NotServed';
  /** The account field that is missing; null when the provider has no such path. */
  readonly field: string | null;

  constructor(message: string, field: string | null = null) {
    super(message);
    this.field = field;
  }
}

/** Separates a path from its query, which is empty or begins with `?`. */
export function splitQuery(path: string): readonly [path: string, query: string] {
  const at = path.indexOf('?');
  return at < 0 ? [path, ''] : [path.slice(0, at), path.slice(at)];
}

/** Changes the model of a body that names another one. */
export function modelChange(
  { params }: Pick<DialectRequest, 'params'>,
  model: string | null | undefined,
): MemberChanges | null {
  const isSame = model === null || model === undefined || params.model === model;
  return isSame ? null : new Map([['model', model]]);
}
