/** Reads model requests and writes streamed answers in the formats of OpenAI and Anthropic, for scripted providers. */

export type ModelFormat = 'chat' | 'messages' | 'responses';

/** A call of a tool that the agent offers. */
interface ScriptedCall {
  readonly name: string;
  readonly input: object | string;
}

/** One answer of a scripted model: a text, or a call. */
export type ScriptedAnswer = { readonly text: string } | { readonly call: ScriptedCall };

export interface Usage {
  readonly input: number;
  readonly output: number;
}

export type Body = Readonly<Record<string, unknown>>;

type Item = Readonly<Record<string, unknown>>;

const itemsOf = (value: unknown): Item[] => (Array.isArray(value) ? (value as Item[]) : []);

/** Names of the offered tools. */
export function toolsIn(body: Body): string[] {
  return itemsOf(body.tools).map((tool) => {
    const { name } = (tool.function as Item | undefined) ?? tool;
    return String(name ?? tool.type);
  });
}

/** Number of tool results in the conversation. */
export function resultsIn(format: ModelFormat, body: Body): number {
  if (format === 'chat') {
    return itemsOf(body.messages).filter(({ role }) => role === 'tool').length;
  }
  if (format === 'responses') {
    return itemsOf(body.input).filter(({ type }) => String(type).endsWith('_call_output')).length;
  }
  return itemsOf(body.messages)
    .flatMap(({ content }) => itemsOf(content))
    .filter(({ type }) => type === 'tool_result').length;
}

/** The server-sent events of one answer. */
export function eventsOf(
  format: ModelFormat,
  model: string,
  answer: ScriptedAnswer,
  usage: Usage,
  serial: number,
): string {
  const events = { chat: chatEvents, messages: messageEvents, responses: responseEvents }[format];
  return events(model, answer, usage, serial);
}

function chatEvents(model: string, answer: ScriptedAnswer, usage: Usage, serial: number): string {
  const head = { id: `chatcmpl-${serial}`, object: 'chat.completion.chunk', created: 1, model };
  const chunk = (delta: object, finish_reason: string | null = null): string =>
    line({ ...head, choices: [{ index: 0, delta, finish_reason }] });
  const { input, output } = usage;
  const counted = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
  };
  const called = 'call' in answer ? answer.call : null;
  const delta =
    called === null
      ? { content: 'text' in answer ? answer.text : '' }
      : {
          tool_calls: [
            {
              index: 0,
              id: `call_${serial}`,
              type: 'function',
              function: { name: called.name, arguments: argumentsOf(called) },
            },
          ],
        };
  return [
    chunk({ role: 'assistant', content: '' }),
    chunk(delta),
    chunk({}, called === null ? 'stop' : 'tool_calls'),
    line({ ...head, choices: [], usage: counted }),
    'data: [DONE]\n\n',
  ].join('');
}

function messageEvents(
  model: string,
  answer: ScriptedAnswer,
  usage: Usage,
  serial: number,
): string {
  const called = 'call' in answer ? answer.call : null;
  const message = {
    id: `msg_${serial}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: usage.input, output_tokens: 1 },
  };
  const block =
    called === null
      ? { type: 'text', text: '' }
      : { type: 'tool_use', id: `toolu_${serial}`, name: called.name, input: {} };
  const delta =
    called === null
      ? { type: 'text_delta', text: 'text' in answer ? answer.text : '' }
      : { type: 'input_json_delta', partial_json: argumentsOf(called) };
  const reason = called === null ? 'end_turn' : 'tool_use';
  return [
    named('message_start', { message }),
    named('content_block_start', { index: 0, content_block: block }),
    named('content_block_delta', { index: 0, delta }),
    named('content_block_stop', { index: 0 }),
    named('message_delta', {
      delta: { stop_reason: reason, stop_sequence: null },
      usage: { output_tokens: usage.output },
    }),
    named('message_stop', {}),
  ].join('');
}

function responseEvents(
  model: string,
  answer: ScriptedAnswer,
  usage: Usage,
  serial: number,
): string {
  const called = 'call' in answer ? answer.call : null;
  const head = { id: `resp_${serial}`, object: 'response', created_at: 1, model };
  const item = called === null ? textItem(answer, serial) : callItem(called, serial);
  const { input, output } = usage;
  const counted = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
  const done = { ...head, status: 'completed', output: [item], usage: counted };
  return [
    named('response.created', { response: { ...head, status: 'in_progress', output: [] } }),
    named('response.output_item.added', { output_index: 0, item }),
    named('response.output_item.done', { output_index: 0, item }),
    named('response.completed', { response: done }),
  ].join('');
}

function textItem(answer: ScriptedAnswer, serial: number): object {
  const text = 'text' in answer ? answer.text : '';
  const content = [{ type: 'output_text', text, annotations: [] }];
  return { id: `item_${serial}`, type: 'message', role: 'assistant', status: 'completed', content };
}

function callItem(call: ScriptedCall, serial: number): object {
  const { name, input } = call;
  const head = { id: `item_${serial}`, call_id: `call_${serial}`, name, status: 'completed' };
  return typeof input === 'string'
    ? { ...head, type: 'custom_tool_call', input }
    : { ...head, type: 'function_call', arguments: argumentsOf(call) };
}

/** A tool with free text gets it in the one member of a function. */
function argumentsOf({ input }: ScriptedCall): string {
  return JSON.stringify(typeof input === 'string' ? { input } : input);
}

function line(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function named(type: string, data: object): string {
  return `event: ${type}\n${line({ type, ...data })}`;
}
