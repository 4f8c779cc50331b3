/** Knows which texts of a request are judged, by the form that it has, and which of them are its last message. */
import {
  contentPassages,
  each,
  itemPassages,
  type Json,
  listedPassages,
  member,
  type Passage,
  type Path,
} from './passages.ts';

/** How a request holds text: as a question to a model of that endpoint, or as what a provider is to keep. */
export type AskedForm =
  | 'chat_completions'
  | 'completions'
  | 'embeddings'
  | 'messages'
  | 'responses'
  | 'kept';

export interface AskedTexts {
  readonly passages: readonly Passage[];
  /** How many at the end are those of the last message. */
  readonly lastCount: number;
}

interface Parts {
  readonly earlier: readonly Passage[];
  readonly last: readonly Passage[];
}

export function requestPassages(form: AskedForm, params: Json): AskedTexts {
  const parts = partsOf(form, params);
  const last = parts.flatMap((part) => part.last);
  return {
    passages: [...parts.flatMap(({ earlier }) => earlier), ...last],
    lastCount: last.length,
  };
}

function partsOf(form: AskedForm, params: Json): Parts[] {
  switch (form) {
    case 'chat_completions':
    case 'messages':
      return ofChat(params);
    case 'completions':
      return [{ earlier: [], last: listedPassages(params.prompt, ['prompt']) }];
    case 'embeddings':
      return [{ earlier: [], last: listedPassages(params.input, ['input']) }];
    case 'responses':
      return [ofSystem(params, 'instructions'), ofMessages(params, 'input'), filledIn(params)];
    case 'kept':
      return ofKept(params);
  }
}

/** Each stands in the body of one route or another; what a run is told as well comes behind what begins its thread. */
function ofKept(params: Json): Parts[] {
  const query = listedPassages(params.query, ['query']);
  return [
    ...['instructions', 'additional_instructions'].map((name) => ofSystem(params, name)),
    ...[['messages'], ['thread', 'messages'], ['additional_messages'], ['items']].map((path) =>
      ofMessages(params, ...path),
    ),
    { earlier: [], last: contentPassages(params.content, ['content']) },
    ofMessages(params, 'tool_outputs'),
    { earlier: [], last: query },
    ...each(params.requests).flatMap((_, at) => ofChat(params, 'requests', at, 'params')),
  ];
}

function ofChat(params: Json, ...path: Path): Parts[] {
  return [ofSystem(params, ...path, 'system'), ofMessages(params, ...path, 'messages')];
}

/** What is said before all messages. */
function ofSystem(params: Json, ...path: Path): Parts {
  return { earlier: contentPassages(member(params, ...path), path), last: [] };
}

/** One text, or a list of messages and other items. */
function ofMessages(params: Json, ...path: Path): Parts {
  const list = member(params, ...path);
  if (typeof list === 'string') return { earlier: [], last: [{ path, text: list }] };
  const messages = each(list).map(([message, at]) => itemPassages(message, [...path, at]));
  return { earlier: messages.slice(0, -1).flat(), last: messages.slice(-1).flat() };
}

/** What is said through a prompt that the provider keeps. */
function filledIn(params: Json): Parts {
  const path = ['prompt', 'variables'];
  const variables = member(params, ...path);
  if (typeof variables !== 'object' || variables === null) return { earlier: [], last: [] };
  const last = Object.entries(variables).flatMap(([name, value]) =>
    contentPassages(value, [...path, name]),
  );
  return { earlier: [], last };
}
