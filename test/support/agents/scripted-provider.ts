/** Starts a provider whose model follows a script of tool calls, and which journals the usage that it reports. */

import { sendJson, startUpstream, type TestUpstream } from '../upstream/upstream.ts';
import {
  type Body,
  eventsOf,
  type ModelFormat,
  resultsIn,
  type ScriptedAnswer,
  toolsIn,
} from './model-formats.ts';

export interface JournalEntry {
  readonly path: string;
  readonly model: string;
  readonly body: Body;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly input: number;
  readonly output: number;
}

export interface ScriptedProvider extends AsyncDisposable {
  readonly upstream: TestUpstream;
  /** Answered model requests in order. */
  readonly journal: JournalEntry[];
  /** All other requests, as method and path. */
  readonly others: string[];
}

/** Answers number `results`; requests without the tool of the first call get a text. */
export type Script = readonly ScriptedAnswer[];

const formats: Readonly<Record<string, ModelFormat>> = {
  '/v1/chat/completions': 'chat',
  '/v1/messages': 'messages',
  '/v1/responses': 'responses',
};

const bytesOfToken = 4;

export async function startScriptedProvider(script: Script): Promise<ScriptedProvider> {
  const journal: JournalEntry[] = [];
  const others: string[] = [];
  const upstream = await startUpstream((request, response) => {
    const { pathname } = new URL(request.url, 'http://provider');
    const format = formats[pathname];
    if (format === undefined || request.method !== 'POST') {
      others.push(`${request.method} ${request.url}`);
      const data = [{ id: 'scripted', object: 'model', created: 1, owned_by: 'test' }];
      if (pathname === '/v1/models') return sendJson(response, { object: 'list', data });
      return sendJson(response, { error: { message: 'no such path', type: 'not_found' } }, 404);
    }
    const body = JSON.parse(request.body.toString('utf8')) as Body;
    const answer = answerOf(script, format, body);
    const input = Math.ceil(request.body.length / bytesOfToken);
    const usage = { input, output: 7 + journal.length };
    const model = String(body.model);
    const { headers } = request;
    journal.push({ path: request.url, model, body, headers, ...usage });
    const events = eventsOf(format, model, answer, usage, journal.length);
    if (body.stream !== true) {
      return sendJson(response, wholeOf(format, model, answer, usage));
    }
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    response.end(events);
  });
  return {
    upstream,
    journal,
    others,
    [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose](),
  };
}

const sideAnswer: ScriptedAnswer = { text: 'A note' };

function answerOf(script: Script, format: ModelFormat, body: Body): ScriptedAnswer {
  const calls = script.flatMap((one) => ('call' in one ? [one.call.name] : []));
  const tools = toolsIn(body);
  if (!calls.every((name) => tools.includes(name)))
    return calls.length === 0 ? script[0]! : sideAnswer;
  return script[Math.min(resultsIn(format, body), script.length - 1)]!;
}

function wholeOf(
  format: ModelFormat,
  model: string,
  answer: ScriptedAnswer,
  { input, output }: { readonly input: number; readonly output: number },
): object {
  const text = 'text' in answer ? answer.text : '';
  if (format === 'messages') {
    return {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model,
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: input, output_tokens: output },
    };
  }
  const message = { role: 'assistant', content: text };
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model,
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
  };
}
