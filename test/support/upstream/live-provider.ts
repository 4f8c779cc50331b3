/** Starts a provider with Gemini's live API: it speaks its messages in binary frames, and keeps a journal of what it charges. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

type Message = Readonly<Record<string, unknown>>;

export interface LiveProviderSession {
  readonly request: IncomingMessage;
  readonly socket: WebSocket;
  /** Messages of the caller, in order, with the setup. */
  readonly received: Message[];
  /** Resolves with the close code of the other side. */
  readonly closed: Promise<number>;
  send(message: object): void;
}

export interface LiveProvider extends AsyncDisposable {
  /** `http://127.0.0.1:port/v1beta/openai`, as configs name the provider. */
  readonly url: string;
  /** In the form of TRUSTED_CUSTOM_HOSTS. */
  readonly host: string;
  readonly sessions: LiveProviderSession[];
  /** Usage of each response. */
  readonly journal: { readonly input: number; readonly output: number }[];
  /** Close code and reason that refuse a setup; null to accept. */
  refusal: { readonly code: number; readonly reason: string } | null;
  /** Whether setups are answered. */
  isSilent: boolean;
  /** Answers input that starts a response. */
  answer: (session: LiveProviderSession, message: Message) => void;
  /** Resolves with the next session whose setup has arrived. */
  next(): Promise<LiveProviderSession>;
}

/** Sound with this text ends a turn. */
export const endOfSpeech = Buffer.from('end of speech').toString('base64');

export async function startLiveProvider(): Promise<LiveProvider> {
  let waiting: ((session: LiveProviderSession) => void)[] = [];
  const http = createServer((_, response) => response.writeHead(404).end());
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  http.on('upgrade', (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (accepted) => open(request, accepted));
  });
  const open = (request: IncomingMessage, socket: WebSocket): void => {
    const session: LiveProviderSession = {
      request,
      socket,
      received: [],
      closed: new Promise((resolve) => socket.once('close', resolve)),
      send: (message) => socket.send(Buffer.from(JSON.stringify(message)), { binary: true }),
    };
    socket.on('error', () => undefined);
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as Message;
      session.received.push(message);
      if (message.setup === undefined) handle(provider, session, message);
      else begin(session);
    });
    provider.sessions.push(session);
  };
  const begin = (session: LiveProviderSession): void => {
    const { refusal, isSilent } = provider;
    if (refusal !== null) session.socket.close(refusal.code, refusal.reason);
    else if (!isSilent) session.send({ setupComplete: {} });
    for (const tell of waiting) tell(session);
    waiting = [];
  };
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', () => resolve()));
  const host = `127.0.0.1:${(http.address() as AddressInfo).port}`;
  const provider: LiveProvider = {
    url: `http://${host}/v1beta/openai`,
    host,
    sessions: [],
    journal: [],
    refusal: null,
    isSilent: false,
    answer: (session) => sayLive(provider, session, 'hello there'),
    next: () => new Promise((resolve) => waiting.push(resolve)),
    [Symbol.asyncDispose]: async () => {
      for (const client of sockets.clients) client.terminate();
      http.closeAllConnections();
      await new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
  return provider;
}

interface LiveInput {
  readonly clientContent?: { readonly turnComplete?: boolean };
  readonly toolResponse?: object;
  readonly realtimeInput?: {
    readonly text?: string;
    readonly audio?: { readonly data?: string };
    readonly activityEnd?: object;
  };
}

function handle(provider: LiveProvider, session: LiveProviderSession, message: Message): void {
  const { clientContent, toolResponse, realtimeInput } = message as LiveInput;
  const isAnswered =
    clientContent?.turnComplete === true ||
    toolResponse !== undefined ||
    realtimeInput?.text !== undefined ||
    realtimeInput?.activityEnd !== undefined ||
    realtimeInput?.audio?.data === endOfSpeech;
  if (isAnswered) provider.answer(session, message);
}

/** The report of usage of a response, which the journal charges. */
export function charge(
  provider: LiveProvider,
  usage: { readonly input: number; readonly output: number },
): object {
  provider.journal.push(usage);
  const { input, output } = usage;
  return {
    promptTokenCount: input,
    responseTokenCount: output,
    totalTokenCount: input + output,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
    responseTokensDetails: [{ modality: 'AUDIO', tokenCount: output }],
  };
}

/** Answers by a text in two pieces, one token for each character as far as the setup allows. */
export function sayLive(
  provider: LiveProvider,
  session: LiveProviderSession,
  text: string,
  input = 20,
): void {
  const { setup } = session.received[0] as {
    readonly setup: { readonly generationConfig?: { readonly maxOutputTokens?: number } };
  };
  const half = Math.ceil(text.length / 2);
  for (const piece of [text.slice(0, half), text.slice(half)]) {
    session.send({ serverContent: { modelTurn: { role: 'model', parts: [{ text: piece }] } } });
  }
  session.send({ serverContent: { generationComplete: true } });
  const most = setup.generationConfig?.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  const output = Math.min(text.length, most);
  const usageMetadata = charge(provider, { input, output });
  session.send({ serverContent: { turnComplete: true }, usageMetadata });
}
