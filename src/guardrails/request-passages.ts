/** Finds the texts of a request that guardrails check, by its format, and which of them are its last message. */
import {
  contentPassages,
  indexedItems,
  itemPassages,
  type JsonObject,
  member,
  type Passage,
  type PassagePath,
  textListPassages,
} from './passages.ts';

/** Format of a request: the one of an endpoint, or that of objects that a provider stores. */
export type RequestForm =
  | 'chat_completions'
  | 'completions'
  | 'embeddings'
  | 'messages'
  | 'responses'
  | 'stored';

export interface RequestPassages {
  readonly passages: readonly Passage[];
  /** Number of passages at the end that belong to the last message. */
  readonly lastCount: number;
}

interface Parts {
  readonly earlier: readonly Passage[];
  readonly last: readonly Passage[];
}

export function findRequestPassages(form: RequestForm, params: JsonObject): RequestPassages {
  const parts = partsOf(form, params);
  const last = parts.flatMap((part) => part.last);
  return {
    passages: [...parts.flatMap(({ earlier }) => earlier), ...last],
    lastCount: last.length,
  };
}

function partsOf(form: RequestForm, params: JsonObject): Parts[] {
  switch (form) {
    case 'chat_completions':
    case 'messages':
      return chatParts(params);
    case 'completions':
      return [{ earlier: [], last: textListPassages(params.prompt, ['prompt']) }];
    case 'embeddings':
      return [{ earlier: [], last: textListPassages(params.input, ['input']) }];
    case 'responses':
      return [
        systemParts(params, 'instructions'),
        messageParts(params, 'input'),
        promptVariableParts(params),
      ];
    case 'stored':
      return storedParts(params);
  }
}

/** Each field belongs to the body of some route. Additional messages of a run follow those of its thread. */
function storedParts(params: JsonObject): Parts[] {
  const query = textListPassages(params.query, ['query']);
  return [
    ...['instructions', 'additional_instructions'].map((name) => systemParts(params, name)),
    ...[['messages'], ['thread', 'messages'], ['additional_messages'], ['items']].map((path) =>
      messageParts(params, ...path),
    ),
    { earlier: [], last: contentPassages(params.content, ['content']) },
    messageParts(params, 'tool_outputs'),
    { earlier: [], last: query },
    ...indexedItems(params.requests).flatMap((_, at) =>
      chatParts(params, 'requests', at, 'params'),
    ),
  ];
}

function chatParts(params: JsonObject, ...path: PassagePath): Parts[] {
  return [systemParts(params, ...path, 'system'), messageParts(params, ...path, 'messages')];
}

/** Texts that precede all messages. */
function systemParts(params: JsonObject, ...path: PassagePath): Parts {
  return { earlier: contentPassages(member(params, ...path), path), last: [] };
}

/** Texts of a string, or of a list of messages and other items. */
function messageParts(params: JsonObject, ...path: PassagePath): Parts {
  const list = member(params, ...path);
  if (typeof list === 'string') return { earlier: [], last: [{ path, text: list }] };
  const messages = indexedItems(list).map(([message, at]) => itemPassages(message, [...path, at]));
  return { earlier: messages.slice(0, -1).flat(), last: messages.slice(-1).flat() };
}

/** Texts that fill the variables of a prompt stored by the provider. */
function promptVariableParts(params: JsonObject): Parts {
  const path = ['prompt', 'variables'];
  const variables = member(params, ...path);
  if (typeof variables !== 'object' || variables === null) return { earlier: [], last: [] };
  const last = Object.entries(variables).flatMap(([name, value]) =>
    contentPassages(value, [...path, name]),
  );
  return { earlier: [], last };
}
