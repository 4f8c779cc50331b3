/** Defines a translation between the format of a caller and that of a provider. */
import type { Json, UnsupportedTerms } from '../documents/document-node.ts';

export interface Translation {
  /** Path at the provider, below its base address, for a request in the format of the caller. */
  pathOf(body: Json): string;
  /**
   * Translates a request.
   *
   * @throws NotTranslatable
   */
  request(body: Json, terms: RequestTerms): Json;
  /**
   * Translates a 2xx response.
   *
   * @throws NotTranslatable
   */
  response(body: unknown, about: TranslationContext): Json;
  /** Builds an error response in the format of the caller. */
  error(fault: ProviderFault): Json;
  /** Creates the translation of one stream. */
  events(about: TranslationContext): EventTranslation;
}

/** Terms of the translation of a request. */
export interface RequestTerms extends UnsupportedTerms {
  /** As a config names it. */
  readonly service: string;
  /** Whether the chat is translated to another format, so that it keeps everything that format may have. */
  readonly isIntermediate?: boolean;
}

/** Context of a translation besides the response of the provider. */
export interface TranslationContext {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Whether the caller requested the usage event of its stream. */
  readonly wantsUsage: boolean;
  /** Likely input tokens, for events before the provider reports them. */
  readonly likelyInputTokens?: number;
  /** Model of the request, where responses of the provider do not name it. */
  readonly model?: string;
  /** The request of the caller, for members of the response that repeat it. */
  readonly request?: Json;
  /** Input tokens that a header of the response states; absent for none. */
  readonly inputTokens?: number;
  /** Set for responses requests. */
  readonly response?: ResponseContext | null;
  /** Names of the custom tools of a chat request, which the provider knows as functions. */
  readonly customTools?: ReadonlySet<string>;
}

/** Members of a response that do not come from the model. */
export interface ResponseContext {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** The conversation that the response continues; null for none. */
  readonly conversationId: string | null;
  /** The members of the request. */
  readonly request: Json;
  /** Whether the response repeats only the short members of a large request; false when absent. */
  readonly isBrief?: boolean;
}

/** An error of a provider. */
export interface ProviderFault {
  readonly message: string;
  /** Error type of the provider; null for none. */
  readonly type: string | null;
  readonly status: number;
}

/** Translates events one by one; returns the text of the translated events, or ''. */
export interface EventTranslation {
  /** @throws NotTranslatable */
  pass(event: Json): string;
  /** Handles `[DONE]`, the end of an OpenAI stream. */
  done(): string;
  /** Handles the end of the bytes. */
  end(): string;
  /** Returns an error event, after which nothing follows. */
  fail(message: string): string;
}

export const brokenOff = 'The provider broke off its answer';

/** Parses an error of either format; null when there is none. */
export function parseProviderFault(body: unknown, status: number): ProviderFault | null {
  // Google sends a list for some requests.
  const holder: unknown = Array.isArray(body) ? body[0] : body;
  const { error, message: plain } = Object(holder) as Record<'error' | 'message', unknown>;
  // AWS sends nothing but a message.
  if (error === undefined && typeof plain === 'string')
    return { message: plain, type: null, status };
  if (typeof error === 'string') return { message: error, type: null, status };
  if (typeof error !== 'object' || error === null) return null;
  const { message, type } = error as { readonly message?: unknown; readonly type?: unknown };
  if (typeof message !== 'string') return null;
  return { message, type: typeof type === 'string' ? type : null, status };
}
