/** Starts a provider with OpenAI's realtime API: it speaks its events, and keeps a journal of what it charges. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

type Event = Readonly<Record<string, unknown>> & { readonly type: string };

export interface ProviderSession {
  readonly request: IncomingMessage;
  readonly socket: WebSocket;
  /** Events of the caller, in order. */
  readonly received: Event[];
  /** Resolves with the close code of the other side. */
  readonly closed: Promise<number>;
  /** The settings of the session. */
  settings: Record<string, unknown>;
  send(event: object): void;
}

export interface RealtimeProvider extends AsyncDisposable {
  /** `http://127.0.0.1:port/v1` */
  readonly url: string;
  /** In the form of TRUSTED_CUSTOM_HOSTS. */
  readonly host: string;
  readonly sessions: ProviderSession[];
  /** Usage of each finished response. */
  readonly journal: { readonly input: number; readonly output: number }[];
  /** Status that refuses the connection; null to accept. */
  refusal: number | null;
  /** Settings that sessions begin with. */
  settings: Record<string, unknown>;
  /** Sent in place of `session.created` when set. */
  firstEvent: object | null;
  /** Answers a request for a response. */
  answer: (session: ProviderSession, event: Event) => void;
  /** Resolves with the next session. */
  next(): Promise<ProviderSession>;
}

/** Sound with this text ends a turn. */
export const endOfTurn = Buffer.from('end of turn').toString('base64');

const usualSettings = {
  type: 'realtime',
  object: 'realtime.session',
  model: 'gpt-realtime',
  instructions: '',
  tools: [],
  audio: {
    input: {
      format: { type: 'audio/pcm', rate: 24_000 },
      turn_detection: { type: 'server_vad', create_response: true, idle_timeout_ms: 5_000 },
    },
  },
};

export async function startRealtimeProvider(): Promise<RealtimeProvider> {
  let count = 0;
  let waiting: ((session: ProviderSession) => void)[] = [];
  const http = createServer((_, response) => response.writeHead(404).end());
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  http.on('upgrade', (request, socket, head) => {
    if (provider.refusal !== null) {
      socket.end(`HTTP/1.1 ${provider.refusal} Refused\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (accepted) => open(request, accepted));
  });
  const open = (request: IncomingMessage, socket: WebSocket): void => {
    const session: ProviderSession = {
      request,
      socket,
      received: [],
      closed: new Promise((resolve) => socket.once('close', resolve)),
      settings: structuredClone(provider.settings),
      send: (event) => socket.send(JSON.stringify({ event_id: `event_p${++count}`, ...event })),
    };
    socket.on('message', (data) => {
      const event = JSON.parse(String(data)) as Event;
      session.received.push(event);
      handle(provider, session, event);
    });
    socket.on('error', () => undefined);
    provider.sessions.push(session);
    session.send(provider.firstEvent ?? { type: 'session.created', session: session.settings });
    for (const tell of waiting) tell(session);
    waiting = [];
  };
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', () => resolve()));
  const host = `127.0.0.1:${(http.address() as AddressInfo).port}`;
  const provider: RealtimeProvider = {
    url: `http://${host}/v1`,
    host,
    sessions: [],
    journal: [],
    refusal: null,
    settings: usualSettings,
    firstEvent: null,
    answer: (session) => sayText(provider, session, 'hello there'),
    next: () => new Promise((resolve) => waiting.push(resolve)),
    [Symbol.asyncDispose]: async () => {
      for (const client of sockets.clients) client.terminate();
      for (const { socket } of provider.sessions) socket.terminate();
      http.closeAllConnections();
      await new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
  return provider;
}

function handle(provider: RealtimeProvider, session: ProviderSession, event: Event): void {
  switch (event.type) {
    case 'session.update':
      session.settings = merged(session.settings, event.session as object);
      session.send({ type: 'session.updated', session: session.settings });
      return;
    case 'input_audio_buffer.append':
      if (event.audio === endOfTurn) endTurn(provider, session);
      return;
    case 'conversation.item.create':
      session.send({ type: 'conversation.item.added', item: event.item });
      return;
    case 'response.create':
      provider.answer(session, event);
      return;
  }
}

/** Detects the end of a turn, and answers it unless the settings forbid it. */
function endTurn(provider: RealtimeProvider, session: ProviderSession): void {
  session.send({ type: 'input_audio_buffer.speech_stopped' });
  session.send({ type: 'input_audio_buffer.committed' });
  const audio = session.settings.audio as { input: { turn_detection: object | null } };
  const detection = audio.input.turn_detection;
  if (
    detection === null ||
    (detection as { create_response?: boolean }).create_response === false
  ) {
    return;
  }
  provider.answer(session, { type: 'response.create' });
}

function merged(one: object, other: object): Record<string, unknown> {
  const result: Record<string, unknown> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const before = result[name];
    const isMerged = isPlain(before) && isPlain(value);
    result[name] = isMerged ? merged(before, value) : value;
  }
  return result;
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

let responses = 0;

/** Starts a response; returns its id. */
export function beginResponse(session: ProviderSession): string {
  responses += 1;
  const id = `resp_${responses}`;
  session.send({ type: 'response.created', response: { id, object: 'realtime.response' } });
  return id;
}

/** Ends a response, and charges it. */
export function endResponse(
  provider: RealtimeProvider,
  session: ProviderSession,
  id: string,
  usage: { readonly input: number; readonly output: number },
  more: object = {},
): void {
  provider.journal.push(usage);
  const { input, output } = usage;
  session.send({
    type: 'response.done',
    response: {
      id,
      object: 'realtime.response',
      status: 'completed',
      output: [],
      usage: {
        total_tokens: input + output,
        input_tokens: input,
        output_tokens: output,
        input_token_details: { text_tokens: input, audio_tokens: 0, cached_tokens: 0 },
        output_token_details: { text_tokens: output, audio_tokens: 0 },
      },
      ...more,
    },
  });
}

/** Answers by a text in two pieces; one token for each character, as far as the request allows. */
export function sayText(
  provider: RealtimeProvider,
  session: ProviderSession,
  text: string,
  input = 20,
): void {
  const request = session.received.findLast(({ type }) => type === 'response.create');
  const { max_output_tokens: most } = (request?.response ?? {}) as { max_output_tokens?: number };
  const id = beginResponse(session);
  const item = `item_${id}`;
  const half = Math.ceil(text.length / 2);
  for (const delta of [text.slice(0, half), text.slice(half)]) {
    const place = { response_id: id, item_id: item, output_index: 0, content_index: 0 };
    session.send({ type: 'response.output_text.delta', ...place, delta });
  }
  const content = [{ type: 'output_text', text }];
  const output = [{ id: item, type: 'message', role: 'assistant', content }];
  const tokens = Math.min(text.length, most ?? Number.POSITIVE_INFINITY);
  endResponse(provider, session, id, { input, output: tokens }, { output });
}
