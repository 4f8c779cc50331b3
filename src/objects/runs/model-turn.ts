/** Knows what a model has answered at one turn of a run, whole or event by event. */
import { newId } from '../../model/ids.ts';
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
  parts.note(message, choice?.finish_reason, answer?.usage as Said);
  return parts.turn();
}

/** Puts together what a stream says. */
export class TurnParts {
  #text = '';
  #finish: string | null = null;
  #promptTokens = 0;
  #completionTokens = 0;
  readonly #calls = new Map<unknown, { id: string; name: string; arguments: string }>();

  /** Data of an event; yields the text that it adds. */
  event(data: string): string {
    if (data === '[DONE]') return '';
    const chunk = parsed(data);
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
    const text = typeof delta?.content === 'string' ? delta.content : '';
    this.#text += text;
    return text;
  }

  get text(): string {
    return this.#text;
  }

  turn(): ModelTurn {
    const ids = new Set<string>();
    const calls = [...this.#calls.values()].map((call): FunctionCall => {
      // Outputs are told apart by it.
      const id = call.id === '' || ids.has(call.id) ? `call_${newId()}` : call.id;
      ids.add(id);
      return { id, type: 'function', function: { name: call.name, arguments: call.arguments } };
    });
    return {
      ...{ text: this.#text, calls, finish: this.#finish },
      ...{ promptTokens: this.#promptTokens, completionTokens: this.#completionTokens },
    };
  }

  #call(said: Said, at: number): void {
    const key = said?.index ?? at;
    const call = this.#calls.get(key) ?? { id: '', name: '', arguments: '' };
    const { name, arguments: given } = (said?.function ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof said?.id === 'string' && call.id === '') call.id = said.id.slice(0, idCharsMax);
    if (typeof name === 'string') call.name += name;
    if (typeof given === 'string') call.arguments += given;
    this.#calls.set(key, call);
  }
}

const idCharsMax = 255;

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
