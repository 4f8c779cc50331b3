/** Interface between the gateway and the families of objects that it stores: requests, responses and errors. */

import type { ObjectKind } from '../model/endpoints/object-kind.ts';
import type { ModelCaller, ModelCalls } from './model-calls.ts';
import type { Owner } from './owner.ts';

export interface ObjectRequest {
  readonly owner: Owner;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly method: string;
  readonly kind: ObjectKind;
  /** Null for a creation or a list. */
  readonly id: string | null;
  /** Path segments after the id: `['runs', 'run_1', 'steps']`; without an id `['runs']` for `/threads/runs`. */
  readonly rest: readonly string[];
  readonly query: URLSearchParams;
  /** The JSON body; empty for other bodies. */
  readonly params: Readonly<Record<string, unknown>>;
  /** An uploaded file that has not been read yet; null for other requests. */
  readonly upload: Upload | null;
  readonly contentType: string | null;
  /** Whether the client marks the request as a retry of one without a response. */
  readonly isRetry: boolean;
  readonly models: ModelCalls;
  /**
   * The caller for later model calls.
   *
   * @throws ObjectError when the request contains credentials that cannot be stored
   */
  readonly modelCaller: () => ModelCaller;
}

/** A form that is being received. */
export interface Upload {
  /** Total size; null if unknown. */
  readonly bytes: number | null;
  /** Throws when the caller disconnects; need not be read to the end. */
  readonly pieces: AsyncIterable<Buffer>;
}

/** Bytes that are sent while they are read. */
export class ByteStream {
  readonly bytes: number;
  readonly pieces: AsyncIterable<Buffer>;

  constructor(bytes: number, pieces: AsyncIterable<Buffer>) {
    this.bytes = bytes;
    this.pieces = pieces;
  }
}

export interface ObjectResponse {
  /** Defaults to 200. */
  readonly status?: number;
  readonly contentType?: string;
  /** Bytes, an object sent as JSON, or stream events as they occur. */
  readonly body: ByteStream | object | AsyncIterable<string>;
}

/** A group of object kinds that the gateway stores. */
export interface ObjectFamily {
  readonly kinds: readonly ObjectKind[];
  /**
   * Returns null if the gateway does not store the object for this owner.
   *
   * @throws ObjectError
   */
  handle(request: ObjectRequest): Promise<ObjectResponse | null>;
  /** Returns the ids that belong to the owner. */
  listOwned(owner: Owner, kind: ObjectKind, ids: readonly string[]): Promise<readonly string[]>;
}

/** An error whose message is returned to the caller. */
export class ObjectError extends Error {
  override name = 'ObjectError';
  readonly code: 'not_found' | 'invalid_request' | 'conflict' | 'body_too_large' | 'unavailable';
  /** Parameter or JSON path at fault; null if there is none. */
  readonly param: string | null;

  constructor(
    code: ObjectError['code'],
    message: string,
    param: string | null = null,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.code = code;
    this.param = param;
  }
}
