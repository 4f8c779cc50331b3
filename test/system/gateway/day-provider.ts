/** Acts as three providers of three formats for one agent session, with a journal of the usage of each turn. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Answer, AnswerPart, Usage } from '../../support/round-trips/answers.ts';
import {
  bytesOf,
  chatProvider,
  converseProvider,
  messagesProvider,
  type ProviderFormat,
} from '../../support/round-trips/provider-answers.ts';
import { eventFrame } from '../../support/upstream/bedrock.ts';

type Json = Readonly<Record<string, unknown>>;

export type DayService = 'openai' | 'anthropic' | 'bedrock';

/** A turn that a provider has worked for. */
interface DayEntry {
  readonly turn: number;
  readonly service: DayService;
  readonly usage: Usage;
}

export interface DayProvider extends AsyncDisposable {
  readonly host: string;
  readonly journal: readonly DayEntry[];
  /** Requests that a provider refused, by service. */
  readonly refused: ReadonlyMap<DayService, number>;
  /** Faults of received requests. */
  readonly faults: readonly string[];
}

/** From this turn on, OpenAI is down. */
export const downFrom = 20;
/** From this turn on, the prompt is too long for Anthropic. */
export const tooLongFrom = 40;
export const turnsOfDay = 50;

const formats: Readonly<Record<DayService, ProviderFormat>> = {
  openai: chatProvider,
  anthropic: messagesProvider,
  bedrock: converseProvider,
};

/** Signatures name the provider, so that one that reaches another is seen. */
const signatureOf = (service: DayService): string =>
  Buffer.from(`signed by ${service}`).toString('base64');

export const toolName = 'read_file';

/** Even turns call a tool, every tenth one two at once; every third one thinks. */
function answerOf(turn: number, service: DayService, isCached: boolean): Answer {
  const isReasoning = turn % 3 === 0;
  const calls = turn % 2 === 0 ? (turn % 10 === 0 ? 2 : 1) : 0;
  const thought = { kind: 'thought', text: `Turn ${turn}?`, signature: signatureOf(service) };
  const text = { kind: 'text', text: `Turn ${turn}.`, cited: [] };
  const called = Array.from({ length: calls }, (_, at) => {
    const args = { path: `file-${turn}-${at}` };
    return { kind: 'call', id: `call_${turn}_${at}`, name: toolName, args };
  });
  // Thousands, so that prices per million tokens are whole micro-dollars.
  const [input, cached] = [turn * 1000 + 3000, isCached ? turn * 1000 : 0];
  return {
    parts: [...(isReasoning ? [thought] : []), text, ...called] as AnswerPart[],
    stop: calls === 0 ? 'end' : 'calls',
    usage: {
      input,
      cached,
      // OpenAI has no price for writes.
      written: service === 'openai' ? 0 : 1000,
      output: 2000 + (isReasoning ? 1000 : 0),
      reasoning: isReasoning && service !== 'bedrock' ? 1000 : 0,
    },
  };
}

function serviceOf(url: string): DayService {
  if (url.startsWith('/model/')) return 'bedrock';
  return url.startsWith('/v1/messages') ? 'anthropic' : 'openai';
}

/** The turn that the last question or result of the agent belongs to. */
function turnIn(body: string): number {
  const all = [...body.matchAll(/turn-(\d+)/g)];
  return Number(all.at(-1)![1]);
}

function faultsOf(service: DayService, body: string): string[] {
  const others = (Object.keys(formats) as DayService[]).filter((one) => one !== service);
  const foreign = others.filter((one) => body.includes(signatureOf(one)));
  return [
    ...foreign.map((one) => `${service} received a signature of ${one}`),
    ...(body.includes('gatewright1/') ? [`${service} received a wrapped signature`] : []),
  ];
}

function refusalOf(turn: number, service: DayService): readonly [number, Json] | null {
  if (service === 'openai' && turn >= downFrom) return [503, { error: { message: 'down' } }];
  if (service !== 'anthropic' || turn < tooLongFrom) return null;
  const message = 'prompt is too long: 210000 tokens > 200000 maximum';
  return [400, { type: 'error', error: { type: 'invalid_request_error', message } }];
}

function streamOf(service: DayService, answer: Answer): readonly [string, Buffer] {
  const events = formats[service].stream(answer, [2, 5]);
  if (service !== 'bedrock') return ['text/event-stream', bytesOf(events)];
  const frames = (events as readonly Json[]).flatMap((event) =>
    Object.entries(event).map(([name, body]) => eventFrame(name, body as Json)),
  );
  return ['application/vnd.amazon.eventstream', Buffer.concat(frames)];
}

export async function startDayProvider(): Promise<DayProvider> {
  const journal: DayEntry[] = [];
  const refused = new Map<DayService, number>();
  const faults: string[] = [];
  const warm = new Set<DayService>();
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const [service, turn] = [serviceOf(request.url!), turnIn(body)];
    faults.push(...faultsOf(service, body));
    const refusal = refusalOf(turn, service);
    if (refusal !== null) {
      refused.set(service, (refused.get(service) ?? 0) + 1);
      response.writeHead(refusal[0], { 'content-type': 'application/json' });
      response.end(JSON.stringify(refusal[1]));
      return;
    }
    // The first prompt of a provider is in no cache.
    const answer = answerOf(turn, service, warm.has(service));
    warm.add(service);
    journal.push({ turn, service, usage: answer.usage });
    const [type, bytes] = streamOf(service, answer);
    response.writeHead(200, { 'content-type': type });
    response.end(bytes);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      faults.push(String(error));
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    journal,
    refused,
    faults,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
