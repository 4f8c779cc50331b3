/** Defines a conversation of the comparison with LiteLLM: one request in the form of its caller. */

export type CallerName = 'chat' | 'messages' | 'gemini';
export type ProviderName = 'openai' | 'anthropic' | 'gemini' | 'converse';
export type Json = Readonly<Record<string, unknown>>;

export interface Conversation {
  /** Unique among the conversations of its caller. */
  readonly name: string;
  readonly from: CallerName;
  /** Whether models that reason are requested. */
  readonly isReasoning: boolean;
  /** Without `model` and `stream`. */
  readonly body: Json;
}

/** Conversations of one caller, from members that complete its usual body. */
export function conversationsOf(
  from: CallerName,
  usual: Json,
  named: Readonly<Record<string, Json>>,
  isReasoning = false,
): Conversation[] {
  return Object.entries(named).map(([name, members]) => {
    return { name, from, isReasoning, body: { ...usual, ...members } };
  });
}

/** A picture of one pixel. */
export const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';
export const pdf = 'JVBERi0xLjQKJSVFT0YK';

/** Schemas of a tool, from plain to nested. */
export const schemas: Readonly<Record<string, Json>> = {
  'one text': { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  'no parameters': { type: 'object', properties: {} },
  'a choice of values': {
    type: 'object',
    properties: { unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } },
  },
  'a list of objects': {
    type: 'object',
    properties: {
      edits: {
        type: 'array',
        items: {
          type: 'object',
          properties: { line: { type: 'integer' }, text: { type: 'string' } },
          required: ['line', 'text'],
        },
      },
    },
  },
  'alternatives and null': {
    type: 'object',
    properties: { limit: { anyOf: [{ type: 'integer' }, { type: 'null' }] } },
  },
  'no further members': {
    type: 'object',
    properties: { path: { type: 'string', description: 'A path' } },
    required: ['path'],
    additionalProperties: false,
  },
  'a reference': {
    type: 'object',
    properties: { node: { $ref: '#/$defs/Node' } },
    $defs: { Node: { type: 'object', properties: { name: { type: 'string' } } } },
  },
  bounds: {
    type: 'object',
    properties: { n: { type: 'integer', minimum: 1, maximum: 9 } },
  },
};

export const answerSchema: Json = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
};

/** Prefixes the names of members. */
export function prefixed<T>(
  prefix: string,
  members: Readonly<Record<string, T>>,
): Readonly<Record<string, T>> {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [`${prefix}${name}`, value]),
  );
}

export function mapped<T, U>(
  members: Readonly<Record<string, T>>,
  change: (value: T) => U,
): Readonly<Record<string, U>> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, change(value)]));
}
