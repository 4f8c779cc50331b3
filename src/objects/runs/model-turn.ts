/** Knows what a model has answered at one turn of a run, whole or event by event. */
import { newId } from '../../model/wire/ids.ts';
import { StreamedCalls } from '../../model/objects/streamed-calls.ts';
import type { FunctionCall } from './step-calls.ts';

export interface ModelTurn {
  readonly text: string;
  readonly calls: readonly FunctionCall[];
  /** As the model says why it ended: `stop`, `length`, `content_filter`, `tool_calls`. */
  readonly finish: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** A member of an answer of which nothing is known. */
type Said = Readonly<Record<string, unknown>> | null | undefined;

/** Null for what is no answer of a chat. */
export function turnOfAnswer(body: unknown): ModelTurn | null {
  const answer = body as Said;
  const choice = firstChoice(answer);
  const message = choice?.message as Said;
  if (message === null || typeof message !== 'object') return null;
  const parts = new TurnParts();
  const { tool_calls: calls } = message;
  // Whole, each is one of its own.
  const own = Array.isArray(calls) ? calls.map((call, index) => ({ ...call, index })) : calls;
  const said = { ...message, tool_calls: own };
  parts.note(said, choice?.finish_reason, answer?.usage as Said);
  return parts.turn();
}

/** Puts together what a stream says. */
export class TurnParts {
  #text = '';
  #finish: string | null = null;
  #promptTokens = 0;
  #completionTokens = 0;
  #isDone = false;
  #error: string | null = null;
  readonly #calls = new StreamedCalls();

  /** Data of an event; yields the text that it adds. */
  event(data: string): string {
    if (data === '[DONE]') {
      this.#isDone = true;
      return '';
    }
    const chunk = parsed(data);
    const error = chunk?.error as Said;
    if (error != null) this.#error ??= String(error.message ?? 'The model has told an error');
    const choice = firstChoice(chunk);
    return this.note(choice?.delta as Said, choice?.finish_reason, chunk?.usage as Said);
  }

  note(delta: Said, finish: unknown, usage: Said): string {
    if (typeof finish === 'string') this.#finish = finish;
    if (usage !== null && typeof usage === 'object') {
      this.#promptTokens = countOf(usage.prompt_tokens);
      this.#completionTokens = countOf(usage.completion_tokens);
    }
    const calls = Array.isArray(delta?.tool_calls) ? delta.tool_calls : [];
    for (const [at, call] of calls.entries()) this.#call(call as Said, at);
    const text = textOf(delta?.content) + textOf(delta?.refusal);
    this.#text += text;
    return text;
  }

  /** Why a stream that has ended is no whole answer; null for one that is. */
  get fault(): string | null {
    if (this.#error !== null) return this.#error;
    const isWhole = this.#isDone || this.#finish !== null;
    return isWhole ? null : 'The model has broken off its answer';
  }

  turn(): ModelTurn {
    const ids = new Set<string>();
    const calls = this.#calls.all.map((call): FunctionCall => {
      // Outputs are told apart by it.
      const id = call.id === null || ids.has(call.id) ? `call_${newId()}` : call.id;
      ids.add(id);
      return { id, type: 'function', function: { name: call.name, arguments: call.arguments } };
    });
    return {
      ...{ text: this.#text, calls, finish: this.#finish },
      ...{ promptTokens: this.#promptTokens, completionTokens: this.#completionTokens },
    };
  }

  #call(said: Said, at: number): void {
    const { name, arguments: given } = (said?.function ?? {}) as Readonly<Record<string, unknown>>;
    const call = this.#calls.take({
      ...{ index: said?.index, at },
      id: typeof said?.id === 'string' ? said.id.slice(0, idCharsMax) : null,
      name: typeof name === 'string' ? name : null,
    });
    // Some models give an object in place of its text.
    if (given != null) call.arguments += typeof given === 'string' ? given : JSON.stringify(given);
  }
}

const idCharsMax = 255;

/** Of a text, or of parts of one. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const parts: readonly Said[] = Array.isArray(content) ? content : [];
  return parts.map((part) => (typeof part?.text === 'string' ? part.text : '')).join('');
}

function firstChoice(answer: Said): Said {
  return Array.isArray(answer?.choices) ? (answer.choices[0] as Said) : undefined;
}

function countOf(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0;
}

function parsed(data: string): Said {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' ? (value as Said) : null;
  } catch {
    return null;
  }
}
