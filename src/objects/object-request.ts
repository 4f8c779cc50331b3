/** Knows a request about objects that the gateway keeps itself, and what answers it: the seam between the gateway and the families of objects. */

import type { ModelCaller, ModelCalls } from './model-calls.ts';
import type { Owner } from './owner.ts';

/** Kinds of objects by the words of their paths; items of responses, spoken answers of chats and messages that go on have none of their own. */
export type ObjectKind =
  | 'items'
  | 'containers'
  | 'responses'
  | 'conversations'
  | 'vector_stores'
  | 'files'
  | 'uploads'
  | 'batches'
  | 'assistants'
  | 'threads'
  | 'chat_completions'
  | 'message_batches'
  | 'fine_tuning_jobs'
  | 'models'
  | 'evals'
  | 'skills'
  | 'videos'
  | 'video_characters'
  | 'audio'
  | 'messages';

export interface ObjectRequest {
  readonly owner: Owner;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly method: string;
  readonly kind: ObjectKind;
  /** Null where none is named: to make one, or to list them. */
  readonly id: string | null;
  /** What follows the id: `['runs', 'run_1', 'steps']`; without one `['runs']` of `/threads/runs`. */
  readonly rest: readonly string[];
  readonly query: URLSearchParams;
  /** What a JSON body says; empty for any other. */
  readonly params: Readonly<Record<string, unknown>>;
  /** A file that is sent, and not read yet; null for any other request. */
  readonly upload: Upload | null;
  readonly contentType: string | null;
  /** By its client's own word sent before, and sent again since no answer came. */
  readonly isRetry: boolean;
  readonly models: ModelCalls;
  /**
   * On whose behalf a model can be asked later on.
   *
   * @throws ObjectError where what the request brings along cannot be kept
   */
  readonly modelCaller: () => ModelCaller;
}

/** A form on its way. */
export interface Upload {
  /** Of all of it; null where nobody says. */
  readonly bytes: number | null;
  /** Throws where the caller goes away; may be left before its end. */
  readonly pieces: AsyncIterable<Buffer>;
}

/** Bytes that are sent as they are read. */
export class ByteStream {
  readonly bytes: number;
  readonly pieces: AsyncIterable<Buffer>;

  constructor(bytes: number, pieces: AsyncIterable<Buffer>) {
    this.bytes = bytes;
    this.pieces = pieces;
  }
}

export interface ObjectAnswer {
  /** 200 where it is left out. */
  readonly status?: number;
  readonly contentType?: string;
  /** Bytes, an answer in JSON, or the events of a stream as they come. */
  readonly body: ByteStream | object | AsyncIterable<string>;
}

/** Objects of some kinds that the gateway keeps itself. */
export interface ObjectFamily {
  readonly kinds: readonly ObjectKind[];
  /**
   * Null where the object is not one that the gateway keeps for this owner.
   *
   * @throws ObjectError
   */
  answer(request: ObjectRequest): Promise<ObjectAnswer | null>;
  /** Those of the ids that are the owner's. */
  listOwned(owner: Owner, kind: ObjectKind, ids: readonly string[]): Promise<readonly string[]>;
}

/** Meant for the caller. */
export class ObjectError extends Error {
  override name = 'ObjectError';
  readonly code: 'not_found' | 'invalid_request' | 'conflict' | 'body_too_large' | 'unavailable';
  /** Parameter or JSON path to blame; null where there is none. */
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
