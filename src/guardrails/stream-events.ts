/** Knows which texts one event of a stream tells: pieces of some, and whole ones that are told again or at once. */
import {
  type AnsweredForm,
  choicePassages,
  keptPassages,
  outputPassages,
  saidPassages,
} from './answer-passages.ts';
import {
  contentPassages,
  each,
  itemPassages,
  type Json,
  member,
  type Passage,
  type Path,
} from './passages.ts';

export interface Told {
  /** Which message or choice the text is of. */
  readonly group: string;
  /** Which text this is a piece of; null for a whole one. */
  readonly slot: string | null;
  readonly passage: Passage;
}

export function toldIn(form: AnsweredForm, event: Json): Told[] {
  switch (form) {
    case 'messages':
      return toldOfMessage(event);
    case 'responses':
      return toldOfResponse(event);
    case 'kept':
      return toldOfRun(event);
    default:
      return toldOfChoices(form, event);
  }
}

function pieces(group: string, slot: string, passages: readonly Passage[]): Told[] {
  return passages.map((passage) => ({ group, slot: `${group} ${slot}`, passage }));
}

function wholes(group: string, passages: readonly Passage[]): Told[] {
  const said = passages.filter(({ text }) => text !== '');
  return said.map((passage) => ({ group, slot: null, passage }));
}

function toldOfChoices(form: AnsweredForm, { choices }: Json): Told[] {
  return each(choices).flatMap(([choice, at]) => {
    const group = String(member(choice, 'index') ?? at);
    const path = ['choices', at];
    if (form === 'completions') {
      return pieces(group, '', contentPassages(member(choice, 'text'), [...path, 'text']));
    }
    const said = itemPassages(member(choice, 'delta'), [...path, 'delta']);
    const whole = choicePassages([choice], []).map(({ path: steps, text }) => ({
      ...{ path: [...path, ...steps.slice(1)], text },
    }));
    return [
      ...said.flatMap((passage) => pieces(group, String(passage.path[3]), [passage])),
      ...wholes(group, whole),
    ];
  });
}

function toldOfMessage(event: Json): Told[] {
  const told = (path: Path): Told[] =>
    pieces('', String(event.index), contentPassages(member(event, ...path), path));
  if (event.type === 'content_block_delta') return told(['delta', 'text']);
  if (event.type === 'content_block_start') return told(['content_block']);
  const path = ['message', 'content'];
  return wholes('', contentPassages(member(event, ...path), path));
}

const piecesOfResponse = /^response\.(output_text|refusal)\.delta$/;
const wholesOfResponse = /^response\.(?:output_text|refusal)\.done$/;
/** What the model has only thought. */
const thoughts: ReadonlySet<unknown> = new Set(['reasoning_text', 'summary_text']);

function toldOfResponse(event: Json): Told[] {
  const { type, delta, part, item, output_index: output, content_index: content } = event;
  const [, said] = piecesOfResponse.exec(String(type)) ?? [];
  if (said !== undefined) {
    const slot = `${String(output)} ${String(content)} ${said}`;
    return pieces('', slot, contentPassages(delta, ['delta']));
  }
  const isSaid = wholesOfResponse.test(String(type));
  return wholes('', [
    ...(isSaid ? contentPassages(event, []) : []),
    ...(thoughts.has(member(part, 'type')) ? [] : contentPassages(part, ['part'])),
    ...saidPassages(item, ['item']),
    ...outputPassages(member(event.response, 'output'), ['response', 'output']),
  ]);
}

/** Of a run: of its messages, and of what tools of the provider have answered; some tell the name of an event beside its `data`. */
function toldOfRun(event: Json): Told[] {
  const { delta, data } = event;
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) {
    return toldOfRun(data as Json).map(({ passage: { path, text }, ...told }) => ({
      ...{ ...told, passage: { path: ['data', ...path], text } },
    }));
  }
  const group = String(event.id);
  if (delta === undefined) return wholes(group, keptPassages(event, []));
  const parts = each(member(delta, 'content')).flatMap(([part, at]) =>
    pieces(group, indexOf(part, at), contentPassages(part, ['delta', 'content', at])),
  );
  const path = ['delta', 'step_details', 'tool_calls'];
  const calls = each(member(event, ...path)).flatMap(([call, at]) => {
    const outputs = ['code_interpreter', 'outputs'];
    return each(member(call, ...outputs)).flatMap(([output, place]) =>
      pieces(
        group,
        `${indexOf(call, at)} ${indexOf(output, place)}`,
        contentPassages(output, [...path, at, ...outputs, place]),
      ),
    );
  });
  return [...parts, ...calls];
}

/** Among the parts of what the stream tells, which may differ from its place in one event. */
function indexOf(part: unknown, at: number): string {
  return String(member(part, 'index') ?? at);
}
