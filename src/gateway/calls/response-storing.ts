/** Stores the response of a call in the caches of its config. */
import type { Call } from '../../upstream/call.ts';
import { CapturedStream } from '../transfer/captured-stream.ts';
import type { EventFilter } from '../transfer/relay.ts';
import type { ResponseCache, WholeResponse } from './response-cache.ts';
import { type SemanticLookup, storedAnswerBytesMax } from './semantic-lookup.ts';

export class ResponseStoring {
  readonly #responses: ResponseCache;
  readonly #now: number;
  /** Key under which the coming response is cached; null when it is not cached. */
  #key: string | null = null;
  /** The semantic cache that stores the coming response; null for none. */
  #semantic: SemanticLookup | null = null;
  /** The complete response for the semantic cache, stored once no guardrail has denied it. */
  #answer: WholeResponse | null = null;

  /** `now` in milliseconds since the epoch. */
  constructor(responses: ResponseCache, now: number) {
    this.#responses = responses;
    this.#now = now;
  }

  /** A call begins whose response is stored under the key, or, with nulls, not at all. */
  begin(key: string | null, semantic: SemanticLookup | null): void {
    this.#key = key;
    this.#semantic = semantic;
    this.#answer = null;
  }

  /** Adds the complete response of the call. */
  add({ status, headers }: Call, body: Buffer): void {
    const response = { status, headers, body };
    if (this.#semantic !== null) this.#answer = response;
    else if (this.#key !== null) this.#responses.add(this.#key, response, this.#now);
  }

  /** Whether the response is stored even if it is a stream. */
  get storesStreams(): boolean {
    return this.#semantic !== null;
  }

  /** Wraps the filter of a stream that will be stored; null for any other. */
  capture(filter: EventFilter | null): CapturedStream | null {
    if (filter === null || this.#semantic === null) return null;
    return new CapturedStream(filter, storedAnswerBytesMax);
  }

  /** Keeps a response that a guardrail denied out of the semantic cache. */
  forget(): void {
    this.#answer = null;
  }

  /** Stores what no guardrail has denied; called once at the end of every request. */
  close(): void {
    const answer = this.#answer;
    this.#answer = null;
    if (answer === null) return;
    this.#semantic?.add(answer);
    if (this.#key !== null) this.#responses.add(this.#key, answer, this.#now);
  }
}
