/** Knows where requests and answers hold text that a model reads or wrote, by their kind, and how it is replaced. */

type Step = string | number;

/** One piece of text, and where it stands. */
export interface Passage {
  readonly path: readonly Step[];
  readonly text: string;
}

type Json = Readonly<Record<string, unknown>>;

/** Types of parts that are text, in requests and answers of any format. */
const textTypes = new Set(['text', 'input_text', 'output_text']);

/** Text of a request: that of the last message, or of all that it holds. */
export function requestPassages(endpoint: string, params: Json, scansAll: boolean): Passage[] {
  switch (endpoint) {
    case 'chat_completions':
    case 'messages':
      return [
        ...(scansAll ? contentPassages(params.system, ['system']) : []),
        ...messagePassages(params.messages, ['messages'], scansAll),
      ];
    case 'completions':
      return listedPassages(params.prompt, ['prompt']);
    case 'embeddings':
      return listedPassages(params.input, ['input']);
    case 'responses':
      return [
        ...(scansAll ? contentPassages(params.instructions, ['instructions']) : []),
        ...(typeof params.input === 'string'
          ? [{ path: ['input'], text: params.input }]
          : messagePassages(params.input, ['input'], scansAll)),
      ];
    default:
      return [];
  }
}

/** Text of an answer: every choice of it. */
export function answerPassages(endpoint: string, answer: Json): Passage[] {
  switch (endpoint) {
    case 'chat_completions':
      return each(answer.choices).flatMap(([choice, at]) =>
        contentPassages(member(choice, 'message', 'content'), [
          'choices',
          at,
          'message',
          'content',
        ]),
      );
    case 'completions':
      return each(answer.choices).flatMap(([choice, at]) =>
        contentPassages(member(choice, 'text'), ['choices', at, 'text']),
      );
    case 'messages':
      return contentPassages(answer.content, ['content']);
    case 'responses':
      return messagePassages(answer.output, ['output'], true);
    default:
      return [];
  }
}

/** A copy with other texts at these places; what it does not touch is shared. */
export function withTexts(
  json: Json,
  passages: readonly Passage[],
  texts: readonly string[],
): Record<string, unknown> {
  let copy: unknown = json;
  passages.forEach(({ path, text }, at) => {
    if (texts[at] !== undefined && texts[at] !== text) copy = replaced(copy, path, texts[at]);
  });
  return copy as Record<string, unknown>;
}

function replaced(value: unknown, [step, ...rest]: readonly Step[], text: string): unknown {
  if (step === undefined) return text;
  const below = replaced((value as Record<Step, unknown>)[step], rest, text);
  return Array.isArray(value)
    ? value.with(step as number, below)
    : { ...(value as Json), [step]: below };
}

function messagePassages(list: unknown, path: readonly Step[], all: boolean): Passage[] {
  const messages = each(list);
  return (all ? messages : messages.slice(-1)).flatMap(([message, at]) => [
    ...contentPassages(member(message, 'content'), [...path, at, 'content']),
    ...outputPassages(member(message, 'output'), [...path, at, 'output']),
  ]);
}

/** What a tool of the caller answered, in the format of Responses. */
function outputPassages(output: unknown, path: readonly Step[]): Passage[] {
  return typeof output === 'string' ? [{ path, text: output }] : [];
}

/** A text, or parts of which some are text; what a tool answered in Anthropic's format is parts again. */
function contentPassages(content: unknown, path: readonly Step[]): Passage[] {
  if (typeof content === 'string') return [{ path, text: content }];
  return each(content).flatMap(([part, at]) => {
    const type = member(part, 'type');
    if (type === 'tool_result') {
      return contentPassages(member(part, 'content'), [...path, at, 'content']);
    }
    const text = member(part, 'text');
    const isText = typeof text === 'string' && textTypes.has(type as string);
    return isText ? [{ path: [...path, at, 'text'], text }] : [];
  });
}

/** A text or a list of texts. */
function listedPassages(value: unknown, path: readonly Step[]): Passage[] {
  if (typeof value === 'string') return [{ path, text: value }];
  return each(value).flatMap(([text, at]) =>
    typeof text === 'string' ? [{ path: [...path, at], text }] : [],
  );
}

function each(list: unknown): [unknown, number][] {
  return Array.isArray(list) ? list.map((item: unknown, at) => [item, at]) : [];
}

function member(value: unknown, ...names: readonly string[]): unknown {
  let found = value;
  for (const name of names) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Json)[name];
  }
  return found;
}
