/** Starts a provider that stores assistants and threads itself, with a scripted model. */
import { chatAnswer, sendJson, type TestUpstream } from './upstream.ts';

export interface AssistantsProvider {
  /** Texts that its model received, one for each call. */
  readonly received: string[];
  /** The response text of its model. */
  reply: string;
  readonly script: TestUpstream['script'];
}

type Json = Record<string, unknown>;

/** Chats use the same scripted model. */
export function startAssistants(): AssistantsProvider {
  const received: string[] = [];
  const threads = new Map<string, Json[]>();
  let made = 0;
  const messageOf = (role: unknown, value: unknown): Json => {
    made += 1;
    const content = [{ type: 'text', text: { value, annotations: [] } }];
    return { id: `msg-${made}`, object: 'thread.message', role, content };
  };
  const lastUserText = (messages: unknown): string => {
    received.push(JSON.stringify(messages));
    return provider.reply;
  };
  const provider: AssistantsProvider = {
    received: received,
    reply: 'hi',
    script: ({ method, url, body }, response) => {
      const path = new URL(url, 'http://any').pathname.slice('/v1'.length);
      const params: Json = body.length === 0 ? {} : JSON.parse(body.toString());
      const [kind, id = '', ...rest] = path.slice(1).split('/');
      const events = (reported: readonly Json[]): void => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const event of reported) {
          response.write(`event: ${event.object}\ndata: ${JSON.stringify(event)}\n\n`);
        }
        response.end('data: [DONE]\n\n');
      };
      made += 1;
      if (path === '/chat/completions' && method === 'POST') {
        const content = lastUserText(params.messages);
        const one = { ...chatAnswer, id: `chat-${made}` };
        const halves = [content.slice(0, 7), content.slice(7)];
        if (params.stream === true) {
          return events(
            halves.map((half) => ({ ...one, choices: [{ index: 0, delta: { content: half } }] })),
          );
        }
        const message = { role: 'assistant', content };
        return sendJson(response, {
          ...one,
          choices: [{ index: 0, message, finish_reason: 'stop' }],
        });
      }
      if (method === 'POST' && id === '') {
        const given = (params.messages ?? []) as Json[];
        const one = { ...params, id: `${kind}-${made}`, object: kind };
        if (kind === 'threads') {
          threads.set(
            one.id,
            given.map(({ role, content }) => messageOf(role, content)),
          );
        }
        return sendJson(response, one);
      }
      const messages = threads.get(id) ?? [];
      const run = { id: `run-${made}`, object: 'thread.run', thread_id: id, status: 'completed' };
      if (method === 'POST' && rest[0] === 'messages') {
        messages.unshift(messageOf(params.role, params.content));
        return sendJson(response, messages[0]);
      }
      if (method === 'POST' && rest[0] === 'runs') {
        const text = lastUserText(messages);
        const message = messageOf('assistant', text);
        messages.unshift(message);
        if (params.stream !== true) return sendJson(response, run);
        const pieces = [text.slice(0, 7), text.slice(7)].map((value) => ({
          id: message.id,
          object: 'thread.message.delta',
          delta: { content: [{ index: 0, type: 'text', text: { value } }] },
        }));
        return events([run, { ...message, content: [] }, ...pieces, message, run]);
      }
      if (rest[0] === 'runs') return sendJson(response, run);
      const [, one] = rest;
      if (one === undefined) return sendJson(response, { object: 'list', data: messages });
      return sendJson(
        response,
        messages.find((message) => message.id === one),
      );
    },
  };
  return provider;
}
