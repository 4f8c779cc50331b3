/** Tests that gatewright translates conversations like LiteLLM, except for listed differences. */
import { beforeAll, describe, expect, it } from 'vitest';
import { titleWithReason } from '../support/run/missing-program.ts';
import {
  type AcceptedDifference,
  acceptedDifferences,
  type Part,
} from './translations/accepted.ts';
import { chatConversations } from './translations/chat-conversations.ts';
import type { Difference } from './translations/compare.ts';
import { geminiConversations } from './translations/gemini-conversations.ts';
import { messagesConversations } from './translations/messages-conversations.ts';
import {
  compareExchanges,
  type ExchangeDifferences,
  exchangesOf,
  peerCasesOf,
} from './translations/observe-translations.ts';
import { missingPeer, translateByPeer } from './translations/peer.ts';

const conversations = [...chatConversations, ...messagesConversations, ...geminiConversations];
const parts: readonly Part[] = ['request', 'whole', 'stream'];
const reason = await missingPeer();

let compared: readonly ExchangeDifferences[] = [];

function isAccepted(
  accepted: AcceptedDifference,
  exchange: ExchangeDifferences,
  part: Part,
  { path, theirs }: Difference,
): boolean {
  const { conversation, to } = exchange;
  return (
    accepted.parts.includes(part) &&
    accepted.paths.test(path) &&
    (accepted.from?.includes(conversation.from) ?? true) &&
    (accepted.to?.includes(to) ?? true) &&
    (accepted.cases?.test(conversation.name) ?? true) &&
    (accepted.theirs?.test(String(theirs)) ?? true)
  );
}

it('has unique conversations', () => {
  const names = conversations.map(({ from, name }) => `${from}: ${name}`);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThan(180);
});

describe.skipIf(reason !== null)(titleWithReason('beside LiteLLM', reason), () => {
  beforeAll(async () => {
    const exchanges = exchangesOf(conversations);
    compared = await compareExchanges(exchanges, await translateByPeer(peerCasesOf(exchanges)));
  });

  describe.each(['chat', 'messages', 'gemini'] as const)('a conversation of %s', (from) => {
    it.each(conversations.filter((one) => one.from === from))(
      'is translated alike: $name',
      ({ name }) => {
        const unlisted = compared
          .filter(({ conversation: one }) => one.from === from && one.name === name)
          .flatMap((exchange) =>
            parts.flatMap((part) =>
              exchange[part]
                .filter(
                  (one) => !acceptedDifferences.some((row) => isAccepted(row, exchange, part, one)),
                )
                .map((one) => ({ to: exchange.to, part, ...one })),
            ),
          );
        expect(unlisted).toEqual([]);
      },
    );
  });

  it.each(acceptedDifferences)('differs, because: $why', (row) => {
    const found = compared.filter((exchange) =>
      parts.some((part) => exchange[part].some((one) => isAccepted(row, exchange, part, one))),
    );
    expect(found).not.toEqual([]);
  });
});
