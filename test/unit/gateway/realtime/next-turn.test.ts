/** Verifies that no reservation of a live session is lost when the provider begins a response while one is made. */
import { setImmediate as nextLoop } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ConversationBound } from '../../../../src/gateway/realtime/conversation-bound.ts';
import type { TurnTerms } from '../../../../src/gateway/realtime/live/live-turn.ts';
import { NextTurn } from '../../../../src/gateway/realtime/live/next-turn.ts';
import type { SessionPorts } from '../../../../src/gateway/realtime/session-ports.ts';

/** A ledger whose grants wait until they are released, and that counts what is reserved. */
function slowLedger() {
  const waiting: (() => void)[] = [];
  let reserved = 0;
  const open = () => ({
    admit: async () => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      reserved += 1;
      return { outputTokens: 10 };
    },
    release: () => {
      reserved -= 1;
    },
    uncount: () => undefined,
  });
  const grant = async (): Promise<void> => {
    while (waiting.length === 0) await nextLoop();
    waiting.shift()!();
  };
  return { ledger: { open } as unknown as TurnTerms['ledger'], grant, reserved: () => reserved };
}

function nextTurn(ledger: TurnTerms['ledger']) {
  const terms = { ledger, isGoverned: true, outputTokens: 10, countsUnreported: false };
  const target = { pricing: { service: 'google', model: 'm', config: null, adjustments: null } };
  const limit = { type: 'tokens', isHard: true };
  const ports = { terms: { target, limitsAt: () => [limit] }, now: () => 0 };
  const conversation = new ConversationBound();
  conversation.add(100);
  return {
    conversation,
    next: new NextTurn(ports as unknown as SessionPorts, terms, conversation, null),
  };
}

describe('the next response of a live session', () => {
  it('is reserved again when the provider begins it while its input is extended', async () => {
    const { ledger, grant, reserved } = slowLedger();
    const { next, conversation } = nextTurn(ledger);
    const first = next.prepare('sound');
    await grant();
    await first;
    conversation.add(5_000);
    const second = next.prepare('input');
    const begun = await next.take();
    await grant();
    await grant();
    await second;
    expect(next.isCertain).toBe(true);
    expect(reserved()).toBe(3);
    expect(begun.cause).toBe('sound');
  });

  it('is released when the session ends while it is reserved', async () => {
    const { ledger, grant, reserved } = slowLedger();
    const { next } = nextTurn(ledger);
    const preparing = next.prepare('input');
    expect(next.close()).toBeNull();
    await grant();
    await preparing;
    expect(reserved()).toBe(0);
  });
});
