/** Represents custom tools, whose input is a text, as functions, and their calls as calls of functions. */
import type { DocumentNode, Json } from '../documents/document-node.ts';
import { parseExactly } from '../documents/exact-json.ts';

/** Schema of the function that stands in for a custom tool. */
export const customToolParameters: Json = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The complete input of the tool.' } },
  required: ['input'],
  additionalProperties: false,
};

const grammarCharsMax = 20_000;

/** Describes a custom tool; a grammar becomes part of the description, because nothing enforces it. */
export function customToolDescription(
  description: DocumentNode,
  format: DocumentNode,
  grammar: DocumentNode,
): Json {
  const text = description.isAbsent ? '' : description.text();
  if (format.isAbsent || format.at('type').value !== 'grammar') {
    return text === '' ? {} : { description: text };
  }
  format.dropHint();
  const syntax = String(grammar.at('syntax').value);
  const rules = grammar.at('definition').text().slice(0, grammarCharsMax);
  const note = `The input must match this ${syntax} grammar:\n${rules}`;
  return { description: text === '' ? note : `${text}\n\n${note}` };
}

export function customToolArguments(input: string): string {
  return JSON.stringify({ input });
}

/** The input of a custom tool in the arguments of its function; some models send the bare text. */
export function customToolInput(text: string): string {
  try {
    const value = parseExactly(text) as Json | null;
    if (typeof value === 'object' && value !== null && typeof value.input === 'string') {
      return value.input;
    }
  } catch {
    // Not JSON: the text itself is the input.
  }
  return text;
}

/** Emits the input of a custom tool while the arguments of its function arrive in pieces. */
export class CustomToolInput {
  #text = '';
  /** Received characters that are not decoded yet. */
  #pending = '';
  #state: 'start' | 'input' | 'end' = 'start';
  #sentChars = 0;

  /** Returns the part of the input that `piece` adds; '' for none. */
  add(piece: string): string {
    this.#text += piece;
    if (this.#state === 'end') return '';
    this.#pending += piece;
    if (this.#state === 'start') {
      const start = inputStart.exec(this.#pending);
      if (start === null) return '';
      this.#pending = this.#pending.slice(start[0].length);
      this.#state = 'input';
    }
    const decoded = this.#decode();
    this.#sentChars += decoded.length;
    return decoded;
  }

  /** Returns what is left at the end of the call, and the whole input. */
  end(): { readonly rest: string; readonly input: string } {
    const input = customToolInput(this.#text);
    return { rest: input.slice(this.#sentChars), input };
  }

  /** Decodes the complete characters of a JSON text, up to its end. */
  #decode(): string {
    const pending = this.#pending;
    let end = 0;
    while (end < pending.length && pending[end] !== '"') {
      const chars = pending[end] !== '\\' ? 1 : pending[end + 1] === 'u' ? 6 : 2;
      if (end + chars > pending.length) break;
      end += chars;
    }
    if (pending[end] === '"') this.#state = 'end';
    this.#pending = pending.slice(end);
    try {
      return JSON.parse(`"${pending.slice(0, end)}"`) as string;
    } catch {
      // An invalid escape: the rest follows at the end of the call.
      this.#state = 'end';
      return '';
    }
  }
}

const inputStart = /^\s*\{\s*"input"\s*:\s*"/;
