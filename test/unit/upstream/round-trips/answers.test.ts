/** Checks with the official SDKs that answers keep their meaning in every other format, and return unchanged. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { translationFor } from '../../../../src/upstream/formats/all-translations.ts';
import { TranslatedEvents } from '../../../../src/upstream/translation/translated-events.ts';
import type {
  Translation,
  TranslationContext,
} from '../../../../src/upstream/translation/translation.ts';
import {
  type Answer,
  answersOf,
  chunksOf,
  type Meaning,
  meaningOf,
  places,
} from '../../../support/round-trips/answers.ts';
import { converseCaller } from '../../../support/round-trips/converse-caller.ts';
import {
  bytesOf,
  chatProvider,
  converseProvider,
  geminiProvider,
  googleChatProvider,
  messagesProvider,
  type ProviderFormat,
} from '../../../support/round-trips/provider-answers.ts';
import {
  type CallerFormat,
  chatCaller,
  geminiCaller,
  messagesCaller,
  type ReadAnswer,
  responsesCaller,
} from '../../../support/round-trips/sdk-callers.ts';

const callers = {
  chat: chatCaller,
  messages: messagesCaller,
  responses: responsesCaller,
  gemini: geminiCaller,
  converse: converseCaller,
};
const providers = {
  chat: chatProvider,
  google: googleChatProvider,
  messages: messagesProvider,
  gemini: geminiProvider,
  converse: converseProvider,
};

const pairs = Object.entries(callers).flatMap(([from, caller]) =>
  Object.entries(providers).flatMap(([to, provider]) => {
    const translation = translationFor(caller.path, provider.dialect, false);
    return translation === null ? [] : [{ from, to, caller, provider, translation }];
  }),
);

const kinds = {
  chat: { hidden: true, refusals: true, citations: true },
  google: { hidden: false, refusals: false, citations: false, thoughts: false },
  messages: { hidden: true, refusals: false, citations: true },
  gemini: { hidden: false, refusals: false, citations: false },
  converse: { hidden: true, refusals: false, citations: false },
};

function contextOf(caller: CallerFormat): TranslationContext {
  const request = caller.request(true);
  const response = { id: 'resp_1', createdAt: 0, conversationId: null, request };
  return { now: 0, wantsUsage: true, model: 'm', response };
}

/** The contents that the caller reads, with the documented differences of the formats. */
function expectedOf(answer: Answer, caller: CallerFormat, provider: ProviderFormat): Meaning {
  const meaning = meaningOf(answer);
  const { written: _written, ...usage } = meaning.usage;
  const { reasoning: _reasoning, ...known } = usage;
  const isRefusal = meaning.refusal !== '';
  return {
    ...meaning,
    cited: caller.hasCitations ? meaning.cited : [],
    ...(caller.hasRefusals || !isRefusal
      ? {}
      : { text: meaning.refusal, refusal: '', stop: 'filter' as const }),
    // Converse counts no reasoning.
    usage: provider.dialect === 'converse' || caller === converseCaller ? known : usage,
  };
}

function streamed(translation: Translation, context: TranslationContext, chunks: Buffer[]) {
  const events = new TranslatedEvents(translation.events(context));
  return [...chunks.map((chunk) => events.pass(chunk)), events.rest()].filter(
    ({ length }) => length > 0,
  );
}

function returned(
  translation: Translation,
  provider: Pick<ProviderFormat, 'service' | 'turnIn'>,
  next: object,
) {
  const dropped: string[] = [];
  const terms = { service: provider.service, unsupported: null, dropped };
  const request = translation.request(next as Readonly<Record<string, unknown>>, terms);
  return { request, turn: provider.turnIn(request), dropped };
}

describe.each(pairs)('an answer of a provider of $to for a caller of $from', (pair) => {
  const { to, caller, provider, translation } = pair;
  const context = contextOf(caller);
  const answers = answersOf(kinds[to as keyof typeof kinds]);

  async function read(answer: Answer): Promise<ReadAnswer> {
    const body = translation.response(provider.whole(answer), context);
    return caller.whole(Buffer.from(JSON.stringify(body)));
  }

  it('keeps its meaning as a whole', async () => {
    await fc.assert(
      fc.asyncProperty(answers, async (answer) => {
        const { meaning } = await read(answer);
        expect(meaning).toMatchObject(expectedOf(answer, caller, provider));
      }),
    );
  });

  it('keeps its meaning as a stream that is cut anywhere', async () => {
    await fc.assert(
      fc.asyncProperty(answers, places, places, async (answer, texts, cuts) => {
        const bytes = bytesOf(provider.stream(answer, texts));
        const chunks = streamed(translation, context, chunksOf(bytes, cuts));
        const { meaning } = await caller.stream(chunks);
        expect(meaning).toMatchObject(expectedOf(answer, caller, provider));
      }),
    );
  });

  it('returns to its provider as the turn that the provider issued', async () => {
    await fc.assert(
      fc.asyncProperty(answers, places, async (answer, texts) => {
        const bytes = bytesOf(provider.stream(answer, texts));
        const chunks = streamed(translation, context, [bytes]);
        for (const one of [await read(answer), await caller.stream(chunks)]) {
          const { turn } = returned(translation, provider, caller.next(one));
          expect(turn).toEqual(provider.turn(answer));
        }
      }),
    );
  });
});

describe.each(pairs)(
  'reasoning of $to for a caller of $from',
  ({ to, caller, provider, translation }) => {
    const others = pairs.filter(
      (one) => one.caller === caller && familyOf[one.to] !== familyOf[to],
    );

    it.each(others)('reaches no provider of $to with its signatures', async (other) => {
      const answers = answersOf(kinds[to as keyof typeof kinds]);
      await fc.assert(
        fc.asyncProperty(answers, async (answer) => {
          const body = translation.response(provider.whole(answer), contextOf(caller));
          const read = await caller.whole(Buffer.from(JSON.stringify(body)));
          // OpenRouter serves models of every family; OpenAI does not.
          const service = other.to === 'chat' ? 'openai' : other.provider.service;
          const receiver = { ...other.provider, service };
          const { request } = returned(other.translation, receiver, caller.next(read));
          const sent = JSON.stringify(request);
          for (const secret of secretsOf(answer)) expect(sent).not.toContain(secret);
          expect(sent).not.toContain('gatewright1/');
          for (const { name } of meaningOf(answer).calls) expect(sent).toContain(name);
        }),
        { numRuns: 30 },
      );
    });
  },
);

/** Providers that take reasoning of each other. */
const familyOf: Readonly<Record<string, string>> = {
  chat: 'openrouter',
  google: 'google',
  gemini: 'google',
  messages: 'anthropic',
  converse: 'bedrock',
};

function secretsOf({ parts }: Answer): string[] {
  const secrets = parts.flatMap((part) => {
    if (part.kind === 'thought') return [part.signature];
    return part.kind === 'hidden' ? [part.data] : [];
  });
  return ['c2lnbmVk', ...secrets];
}
