/** Tests the calls that wait for input: their bounds of time and number, and the states that find them. */
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AskingCall } from '../../../../src/mcp/bridge/bridged-call.ts';
import { WaitingCalls } from '../../../../src/mcp/bridge/waiting-calls.ts';

const subject = {
  principal: 'key',
  serverId: 'server',
  method: 'tools/call',
  params: { name: 'echo', arguments: { a: 1, b: [2, { c: 3, d: 4 }] } },
};
const now = 1_000_000;

function opened(address = 'http://a', key = randomBytes(32)) {
  return new WaitingCalls({ readKey: () => key, ownAddress: () => address });
}

function startedCall() {
  const reasons: string[] = [];
  const call = { cancel: (reason: string) => void reasons.push(reason) } as unknown as AskingCall;
  return { call, reasons };
}

describe('a call that waits for input', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is cancelled after ten minutes when its client never answers', () => {
    const calls = opened();
    const { call, reasons } = startedCall();
    const state = calls.hold(call, subject, now);
    vi.advanceTimersByTime(599_999);
    expect(reasons).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(reasons).toEqual(['the client has not answered']);
    expect(() => calls.find(state, subject, now)).toThrow('not valid or has expired');
    expect(() => calls.take(state, subject)).toThrow('not valid or has expired');
  });

  it('is found by its state once, also when members come in another order', () => {
    const calls = opened();
    const { call, reasons } = startedCall();
    const state = calls.hold(call, subject, now);
    const params = {
      arguments: { b: [2, { d: 4, c: 3 }], a: 1 },
      inputResponses: {},
      requestState: state,
      name: 'echo',
      _meta: {},
    };
    expect(calls.find(state, { ...subject, params }, now)).toEqual({ owner: null });
    expect(calls.take(state, { ...subject, params })).toBe(call);
    expect(() => calls.take(state, subject)).toThrow('not valid or has expired');
    vi.advanceTimersByTime(600_000);
    expect(reasons).toEqual([]);
  });

  it('belongs to its caller, server, method and arguments', () => {
    const calls = opened();
    const state = calls.hold(startedCall().call, subject, now);
    const others = [
      { ...subject, principal: 'other' },
      { ...subject, serverId: 'other' },
      { ...subject, method: 'prompts/get' },
      { ...subject, params: { ...subject.params, arguments: { a: 1, b: [2, { c: 3, d: 5 }] } } },
      { ...subject, params: { ...subject.params, arguments: { a: 1, b: [{ c: 3, d: 4 }, 2] } } },
    ];
    for (const other of others) expect(calls.find(state, other, now)).toBeNull();
    expect(calls.find('x'.repeat(5_000), subject, now)).toBeNull();
    expect(opened().find(state, subject, now)).toBeNull();
  });

  it('is found at its replica by another one with the same key, whatever its clock', () => {
    const key = randomBytes(32);
    const state = opened('http://a', key).hold(startedCall().call, subject, now);
    expect(opened('http://b', key).find(state, subject, now + 10 ** 9)).toEqual({
      owner: 'http://a',
    });
    expect(() => opened('http://a', key).find(state, subject, now)).toThrow('has expired');
  });

  it('is cancelled when the process stops', () => {
    const calls = opened();
    const { call, reasons } = startedCall();
    calls.hold(call, subject, now);
    calls.cancelAll('the gateway is stopping');
    expect(reasons).toEqual(['the gateway is stopping']);
  });

  it('is refused beyond the bound of its caller', () => {
    const calls = opened();
    for (let at = 0; at < 64; at += 1) calls.hold(startedCall().call, subject, now);
    expect(() => calls.hold(startedCall().call, subject, now)).toThrow('limit of calls');
    calls.hold(startedCall().call, { ...subject, principal: 'other' }, now);
  });
});
