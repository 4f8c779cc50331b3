/** Finds the texts in one event of a stream: deltas, and whole texts that are new or repeated. */
import {
  choicePassages,
  outputItemPassages,
  outputPassages,
  type ResponseForm,
  storedPassages,
} from './answer-passages.ts';
import {
  contentPassages,
  indexedItems,
  itemPassages,
  type JsonObject,
  member,
  type Passage,
  type PassagePath,
} from './passages.ts';

export interface StreamText {
  /** The message or choice that contains the text. */
  readonly group: string;
  /** The text that this delta belongs to; null for a whole text. */
  readonly slot: string | null;
  readonly passage: Passage;
}

export function streamTextsIn(form: ResponseForm, event: JsonObject): StreamText[] {
  switch (form) {
    case 'messages':
      return textsOfMessage(event);
    case 'responses':
      return textsOfResponse(event);
    case 'stored':
      return textsOfRun(event);
    default:
      return textsOfChoices(form, event);
  }
}

function pieces(group: string, slot: string, passages: readonly Passage[]): StreamText[] {
  return passages.map((passage) => ({ group, slot: `${group} ${slot}`, passage }));
}

function wholes(group: string, passages: readonly Passage[]): StreamText[] {
  const nonEmpty = passages.filter(({ text }) => text !== '');
  return nonEmpty.map((passage) => ({ group, slot: null, passage }));
}

function textsOfChoices(form: ResponseForm, { choices }: JsonObject): StreamText[] {
  return indexedItems(choices).flatMap(([choice, at]) => {
    const group = String(member(choice, 'index') ?? at);
    const path = ['choices', at];
    if (form === 'completions') {
      return pieces(group, '', contentPassages(member(choice, 'text'), [...path, 'text']));
    }
    const deltas = itemPassages(member(choice, 'delta'), [...path, 'delta']);
    const whole = choicePassages([choice], []).map(({ path: steps, text }) => ({
      path: [...path, ...steps.slice(1)],
      text,
    }));
    return [
      ...deltas.flatMap((passage) => pieces(group, String(passage.path[3]), [passage])),
      ...wholes(group, whole),
    ];
  });
}

function textsOfMessage(event: JsonObject): StreamText[] {
  const piecesAt = (path: PassagePath): StreamText[] =>
    pieces('', String(event.index), contentPassages(member(event, ...path), path));
  if (event.type === 'content_block_delta') return piecesAt(['delta', 'text']);
  if (event.type === 'content_block_start') return piecesAt(['content_block']);
  const path = ['message', 'content'];
  return wholes('', contentPassages(member(event, ...path), path));
}

const piecesOfResponse = /^response\.(output_text|refusal)\.delta$/;
const wholesOfResponse = /^response\.(?:output_text|refusal)\.done$/;
/** Parts with reasoning, which is not checked. */
const reasoningParts: ReadonlySet<unknown> = new Set(['reasoning_text', 'summary_text']);

function textsOfResponse(event: JsonObject): StreamText[] {
  const { type, delta, part, item, output_index: output, content_index: content } = event;
  const [, kind] = piecesOfResponse.exec(String(type)) ?? [];
  if (kind !== undefined) {
    const slot = `${String(output)} ${String(content)} ${kind}`;
    return pieces('', slot, contentPassages(delta, ['delta']));
  }
  const isWhole = wholesOfResponse.test(String(type));
  return wholes('', [
    ...(isWhole ? contentPassages(event, []) : []),
    ...(reasoningParts.has(member(part, 'type')) ? [] : contentPassages(part, ['part'])),
    ...outputItemPassages(item, ['item']),
    ...outputPassages(member(event.response, 'output'), ['response', 'output']),
  ]);
}

/** Texts of a run's messages and of its provider's tools. Some streams wrap the event in `data` next to its name. */
function textsOfRun(event: JsonObject): StreamText[] {
  const { delta, data } = event;
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) {
    return textsOfRun(data as JsonObject).map(({ passage: { path, text }, ...rest }) => ({
      ...rest,
      passage: { path: ['data', ...path], text },
    }));
  }
  const group = String(event.id);
  if (delta === undefined) return wholes(group, storedPassages(event, []));
  const parts = indexedItems(member(delta, 'content')).flatMap(([part, at]) =>
    pieces(group, indexOf(part, at), contentPassages(part, ['delta', 'content', at])),
  );
  const path = ['delta', 'step_details', 'tool_calls'];
  const calls = indexedItems(member(event, ...path)).flatMap(([call, at]) => {
    const outputs = ['code_interpreter', 'outputs'];
    return indexedItems(member(call, ...outputs)).flatMap(([output, place]) =>
      pieces(
        group,
        `${indexOf(call, at)} ${indexOf(output, place)}`,
        contentPassages(output, [...path, at, ...outputs, place]),
      ),
    );
  });
  return [...parts, ...calls];
}

/** Index of the part in the whole stream, which can differ from its index in one event. */
function indexOf(part: unknown, at: number): string {
  return String(member(part, 'index') ?? at);
}
