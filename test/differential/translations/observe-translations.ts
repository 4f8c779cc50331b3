/** Translates each conversation with gatewright and with LiteLLM, and collects their differences. */
import fc from 'fast-check';
import { NotTranslatable } from '../../../src/upstream/documents/document-node.ts';
import { translationFor } from '../../../src/upstream/formats/all-translations.ts';
import { TranslatedEvents } from '../../../src/upstream/translation/translated-events.ts';
import { type Answer, answersOf } from '../../support/round-trips/answers.ts';
import {
  bytesOf,
  chatProvider,
  converseProvider,
  geminiProvider,
  messagesProvider,
  type ProviderFormat,
} from '../../support/round-trips/provider-answers.ts';
import {
  type CallerFormat,
  chatCaller,
  geminiCaller,
  messagesCaller,
} from '../../support/round-trips/sdk-callers.ts';
import { eventFrame } from '../../support/upstream/bedrock.ts';
import { type Difference, differencesOf, normalRequest } from './compare.ts';
import type { CallerName, Conversation, Json, ProviderName } from './conversation.ts';
import type { PeerCase, PeerResult } from './peer.ts';

const callers: Readonly<Record<CallerName, CallerFormat>> = {
  chat: chatCaller,
  messages: messagesCaller,
  gemini: geminiCaller,
};

interface Provider {
  readonly format: ProviderFormat;
  readonly service: string;
  /** A usual model, and one that reasons. */
  readonly models: readonly [string, string];
  /** Before the model, in the names of LiteLLM. */
  readonly prefix: string;
}

const providers: Readonly<Record<ProviderName, Provider>> = {
  openai: {
    format: chatProvider,
    service: 'openai',
    models: ['gpt-4o', 'gpt-5'],
    prefix: 'openai/',
  },
  anthropic: {
    format: messagesProvider,
    service: 'anthropic',
    models: ['claude-sonnet-4-5', 'claude-sonnet-4-5'],
    prefix: 'anthropic/',
  },
  gemini: {
    format: geminiProvider,
    service: 'google',
    models: ['gemini-2.5-pro', 'gemini-2.5-pro'],
    prefix: 'gemini/',
  },
  converse: {
    format: converseProvider,
    service: 'bedrock',
    models: ['amazon.nova-pro-v1:0', 'amazon.nova-2-lite-v1:0'],
    prefix: 'bedrock/converse/',
  },
};

/** The formats of other callers than this one. */
const providersOf: Readonly<Record<CallerName, readonly ProviderName[]>> = {
  chat: ['anthropic', 'gemini', 'converse'],
  messages: ['openai', 'gemini', 'converse'],
  gemini: ['openai', 'anthropic', 'converse'],
};

/** A conversation at one provider, with the answer that the provider gives. */
export interface Exchange {
  readonly conversation: Conversation;
  readonly to: ProviderName;
  readonly answer: Answer;
}

export interface ExchangeDifferences extends Exchange {
  readonly request: readonly Difference[];
  readonly whole: readonly Difference[];
  readonly stream: readonly Difference[];
}

const answers = fc.sample(answersOf({ hidden: false, refusals: false, citations: false }), {
  seed: 27,
  numRuns: 97,
});

export function exchangesOf(conversations: readonly Conversation[]): Exchange[] {
  return conversations.flatMap((conversation, at) =>
    providersOf[conversation.from].map((to, place) => {
      const answer = answers[(at * 3 + place) % answers.length]!;
      return { conversation, to, answer };
    }),
  );
}

const idOf = ({ conversation, to }: Exchange, isStream: boolean): string =>
  `${conversation.from}-${to}-${conversation.name}-${isStream}`.replaceAll(/[^\w-]/g, '_');

function requestOf({ conversation, to }: Exchange, isStream: boolean): Json {
  const model = providers[to].models[conversation.isReasoning ? 1 : 0];
  // Chats report their usage in streams only on demand.
  const options = conversation.from === 'chat' ? { stream_options: { include_usage: true } } : {};
  return { ...conversation.body, model, ...(isStream ? { stream: true, ...options } : {}) };
}

/** The cuts of texts in streams. */
const cuts = [3, 7, 11];

/** The bytes of the provider's answer. */
function providerBytes({ to, answer }: Exchange, isStream: boolean): Buffer {
  const { format } = providers[to];
  if (!isStream) return Buffer.from(JSON.stringify(format.whole(answer)));
  const events = format.stream(answer, cuts);
  if (to !== 'converse') return bytesOf(events);
  const frames = (events as readonly Json[]).flatMap((event) =>
    Object.entries(event).map(([name, body]) => eventFrame(name, body as Json)),
  );
  return Buffer.concat(frames);
}

function contentTypeOf(to: ProviderName, isStream: boolean): string {
  if (!isStream) return 'application/json';
  return to === 'converse' ? 'application/vnd.amazon.eventstream' : 'text/event-stream';
}

function peerCase(exchange: Exchange, stream: boolean): PeerCase {
  const { conversation, to } = exchange;
  const { models, prefix } = providers[to];
  return {
    id: idOf(exchange, stream),
    from: conversation.from,
    model: prefix + models[conversation.isReasoning ? 1 : 0],
    stream,
    request: requestOf(exchange, stream),
    answer: providerBytes(exchange, stream).toString('base64'),
    contentType: contentTypeOf(to, stream),
  };
}

const terms = { unsupported: 'drop' as const };

function ourTranslation({ conversation, to }: Exchange) {
  return translationFor(callers[conversation.from].path, providers[to].format.dialect, false)!;
}

/** The request that reaches the provider, or the place that keeps it back. */
function ourRequest(exchange: Exchange): Side {
  const { service } = providers[exchange.to];
  const context = { ...terms, service, dropped: [] };
  try {
    const body = ourTranslation(exchange).request(requestOf(exchange, false), context);
    return { value: normalRequest(exchange.to, body) };
  } catch (error) {
    if (error instanceof NotTranslatable) return { fault: error.path };
    throw error;
  }
}

const context = { now: 0, wantsUsage: true, model: 'm' };

function ourWhole(exchange: Exchange): Buffer {
  const body = providers[exchange.to].format.whole(exchange.answer);
  return Buffer.from(JSON.stringify(ourTranslation(exchange).response(body, context)));
}

function ourStream(exchange: Exchange): Buffer {
  const { format } = providers[exchange.to];
  const events = new TranslatedEvents(ourTranslation(exchange).events(context));
  const passed = events.pass(bytesOf(format.stream(exchange.answer, cuts)));
  return Buffer.concat([passed, events.rest()]);
}

/** The events of LiteLLM as its server writes them. */
function peerBytes(from: CallerName, events: readonly Json[]): Buffer {
  const texts = events.map((event) =>
    typeof event.bytes === 'string' ? event.bytes : bytesOf([event]).toString(),
  );
  return Buffer.from(texts.join('') + (from === 'chat' ? 'data: [DONE]\n\n' : ''));
}

/** The meaning that the caller's SDK reads, or the fault that keeps it from reading. */
async function read(run: () => Promise<{ readonly meaning: unknown }>): Promise<Side> {
  try {
    return { value: (await run()).meaning };
  } catch (error) {
    return { fault: String(error).split('\n')[0]! };
  }
}

type Side = { readonly value: unknown } | { readonly fault: string };

/** A fault of one side is one difference, whatever the other side says. */
function compareSides(path: string, ours: Side, theirs: Side): readonly Difference[] {
  if ('value' in ours && 'value' in theirs) return differencesOf(ours.value, theirs.value);
  return [
    {
      path,
      ...('fault' in ours ? { ours: ours.fault } : {}),
      ...('fault' in theirs ? { theirs: theirs.fault } : {}),
    },
  ];
}

async function compareExchange(
  exchange: Exchange,
  results: ReadonlyMap<string, PeerResult>,
): Promise<ExchangeDifferences> {
  const { conversation, to } = exchange;
  const caller = callers[conversation.from];
  const whole = results.get(idOf(exchange, false))!;
  const stream = results.get(idOf(exchange, true))!;
  const ours = ourRequest(exchange);
  const sent: Side =
    whole.sent === null ? { fault: whole.error! } : { value: normalRequest(to, whole.sent) };
  const request = compareSides('refusal', ours, sent);
  if ('fault' in ours || 'fault' in sent) return { ...exchange, request, whole: [], stream: [] };
  const theirWhole = Buffer.from(JSON.stringify(whole.answer ?? {}));
  const theirStream = peerBytes(conversation.from, stream.events ?? []);
  return {
    ...exchange,
    request,
    whole: compareSides(
      'fault',
      await read(() => caller.whole(ourWhole(exchange))),
      whole.error === undefined
        ? await read(() => caller.whole(theirWhole))
        : { fault: whole.error },
    ),
    stream: compareSides(
      'fault',
      await read(() => caller.stream([ourStream(exchange)])),
      stream.error === undefined
        ? await read(() => caller.stream([theirStream]))
        : { fault: stream.error },
    ),
  };
}

export function peerCasesOf(exchanges: readonly Exchange[]): PeerCase[] {
  return exchanges.flatMap((one) => [peerCase(one, false), peerCase(one, true)]);
}

export async function compareExchanges(
  exchanges: readonly Exchange[],
  results: ReadonlyMap<string, PeerResult>,
): Promise<readonly ExchangeDifferences[]> {
  const compared: ExchangeDifferences[] = [];
  // One after the other, because the SDK of Google reads through a global function.
  for (const exchange of exchanges) compared.push(await compareExchange(exchange, results));
  return compared;
}
