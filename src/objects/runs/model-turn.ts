/** Parses the model's response of one turn, from a whole body or from stream events. */

import { StreamedCalls } from '../../model/objects/streamed-calls.ts';
import { newId } from '../../model/wire/ids.ts';
import type { FunctionCall } from './step-calls.ts';

export interface ModelTurn {
  readonly text: string;
  readonly calls: readonly FunctionCall[];
  /** Finish reason of the model: `stop`, `length`, `content_filter`, `tool_calls`. */
  readonly finish: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** A member of a response, not validated. */
type UnknownObject = Readonly<Record<string, unknown>> | null | undefined;

/** Null for a body that is not a chat completion. */
export function parseTurn(body: unknown): ModelTurn | null {
  const response = body as UnknownObject;
  const choice = firstChoice(response);
  const message = choice?.message as UnknownObject;
  if (message === null || typeof message !== 'object') return null;
  const parts = new TurnAssembler();
  const { tool_calls: calls } = message;
  // In a whole body each entry is a call of its own.
  const own = Array.isArray(calls) ? calls.map((call, index) => ({ ...call, index })) : calls;
  const delta = { ...message, tool_calls: own };
  parts.add(delta, choice?.finish_reason, response?.usage as UnknownObject);
  return parts.turn();
}

/** Assembles a turn from stream events. */
export class TurnAssembler {
  #text = '';
  #finish: string | null = null;
  #promptTokens = 0;
  #completionTokens = 0;
  #isDone = false;
  #error: string | null = null;
  readonly #calls = new StreamedCalls();

  /** Adds the data of an event; returns the text that it contains. */
  addEvent(data: string): string {
    if (data === '[DONE]') {
      this.#isDone = true;
      return '';
    }
    const chunk = parsed(data);
    const error = chunk?.error as UnknownObject;
    if (error != null) this.#error ??= String(error.message ?? 'The model reported an error');
    const choice = firstChoice(chunk);
    return this.add(
      choice?.delta as UnknownObject,
      choice?.finish_reason,
      chunk?.usage as UnknownObject,
    );
  }

  add(delta: UnknownObject, finish: unknown, usage: UnknownObject): string {
    if (typeof finish === 'string') this.#finish = finish;
    if (usage !== null && typeof usage === 'object') {
      this.#promptTokens = countOf(usage.prompt_tokens);
      this.#completionTokens = countOf(usage.completion_tokens);
    }
    const calls = Array.isArray(delta?.tool_calls) ? delta.tool_calls : [];
    for (const [at, call] of calls.entries()) this.#call(call as UnknownObject, at);
    const text = textOf(delta?.content) + textOf(delta?.refusal);
    this.#text += text;
    return text;
  }

  /** Why an ended stream is incomplete; null if it is complete. */
  get fault(): string | null {
    if (this.#error !== null) return this.#error;
    const isWhole = this.#isDone || this.#finish !== null;
    return isWhole ? null : 'The model broke off its response';
  }

  turn(): ModelTurn {
    const ids = new Set<string>();
    const calls = this.#calls.all.map((call): FunctionCall => {
      // Callers match outputs to calls by id, so it must be unique.
      const id = call.id === null || ids.has(call.id) ? `call_${newId()}` : call.id;
      ids.add(id);
      return { id, type: 'function', function: { name: call.name, arguments: call.arguments } };
    });
    return {
      text: this.#text,
      calls,
      finish: this.#finish,
      promptTokens: this.#promptTokens,
      completionTokens: this.#completionTokens,
    };
  }

  #call(part: UnknownObject, at: number): void {
    const { name, arguments: args } = (part?.function ?? {}) as Readonly<Record<string, unknown>>;
    const call = this.#calls.take({
      index: part?.index,
      at,
      id: typeof part?.id === 'string' ? part.id.slice(0, idCharsMax) : null,
      name: typeof name === 'string' ? name : null,
    });
    // Some models send an object instead of its JSON text.
    if (args != null) call.arguments += typeof args === 'string' ? args : JSON.stringify(args);
  }
}

const idCharsMax = 255;

/** Text of a string, or of a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const parts: readonly UnknownObject[] = Array.isArray(content) ? content : [];
  return parts.map((part) => (typeof part?.text === 'string' ? part.text : '')).join('');
}

function firstChoice(response: UnknownObject): UnknownObject {
  return Array.isArray(response?.choices) ? (response.choices[0] as UnknownObject) : undefined;
}

function countOf(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0;
}

function parsed(data: string): UnknownObject {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' ? (value as UnknownObject) : null;
  } catch {
    return null;
  }
}
