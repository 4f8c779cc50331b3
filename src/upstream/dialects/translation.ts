/** Knows what it takes to speak with a provider in another format than its caller does. */
import type { Json } from './document-node.ts';

export interface Translation {
  /** Where the provider is asked, behind its base address. */
  readonly path: string;
  /**
   * What the provider is asked; `service` as a config names it.
   *
   * @throws NotTranslatable
   */
  request(body: Json, service: string): Json;
  /**
   * An answer of 2xx.
   *
   * @throws NotTranslatable
   */
  response(body: unknown, about: TranslationContext): Json;
  /** An error of the provider in the form of the caller. */
  error(fault: ProviderFault): Json;
  /** Of one stream. */
  events(about: TranslationContext): EventTranslation;
}

/** What an answer goes by beside what the provider says. */
export interface TranslationContext {
  /** When it came; milliseconds since the epoch. */
  readonly now: number;
  /** Whether the caller has asked for the usage of its stream. */
  readonly wantsUsage: boolean;
  /** Of an answer that is a response. */
  readonly response?: ResponseContext | null;
}

/** What a response says of itself beside what a model says. */
export interface ResponseContext {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** The request for it. */
  readonly request: Json;
}

/** What a provider that refuses has said. */
export interface ProviderFault {
  readonly message: string;
  /** As the provider calls it; null where it calls it nothing. */
  readonly type: string | null;
  readonly status: number;
}

/** Takes the events of a provider one by one; what it yields are events in the bytes of a stream, or ''. */
export interface EventTranslation {
  /** @throws NotTranslatable */
  pass(event: Json): string;
  /** What ends a stream of OpenAI: `[DONE]`. */
  done(): string;
  /** The provider says no more. */
  end(): string;
  /** An error in the stream, after which nothing comes. */
  fail(message: string): string;
}

export const brokenOff = 'The provider broke off its answer';

/** The text of an error of either format, or null. */
export function faultOf(body: unknown, status: number): ProviderFault | null {
  const error = (body as { readonly error?: unknown } | null)?.error;
  if (typeof error === 'string') return { message: error, type: null, status };
  if (typeof error !== 'object' || error === null) return null;
  const { message, type } = error as { readonly message?: unknown; readonly type?: unknown };
  if (typeof message !== 'string') return null;
  return { message, type: typeof type === 'string' ? type : null, status };
}
