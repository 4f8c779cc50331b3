/** Tests the sealed sessions of legacy clients with modern servers. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  isBridgedSession,
  LegacySessions,
  sessionOf,
} from '../../../../src/mcp/bridge/legacy-session.ts';

const secret = randomBytes(32);
const sessions = new LegacySessions(() => secret);
const owner = { key: { id: 'key' }, server: { id: 'server' } };
const start = 1_000_000;
const dayMs = 86_400_000;
const params = {
  protocolVersion: '2025-06-18',
  capabilities: { sampling: {}, tasks: {}, experimental: { x: {} }, roots: 'no' },
  clientInfo: { name: 'n'.repeat(999), version: '1', extra: true },
};
const session = sessionOf(params, start);
const sealed = sessions.seal(session, owner);
const gone = expect.objectContaining({
  code: 'session_not_found',
  message: 'The session does not exist; initialize a new one',
});

/** The error of a function that throws. */
function errorOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (thrown) {
    return thrown;
  }
}

describe('a session of a legacy client', () => {
  it('has the version of the client, capabilities of both eras only, and short names', () => {
    expect(session).toEqual({
      id: expect.stringMatching(/^[\w-]{22}$/),
      version: '2025-06-18',
      capabilities: { sampling: {} },
      client: { name: 'n'.repeat(128), version: '1' },
      endsAt: start + 7 * dayMs,
    });
    expect(sessionOf({ protocolVersion: '1999-01-01' }, start).version).toBe('2025-11-25');
  });

  it('is opened by any replica with the same key', () => {
    const replica = new LegacySessions(() => secret);
    expect(isBridgedSession(sealed)).toBe(true);
    expect(replica.open(sealed, owner, start)).toEqual(session);
  });

  it('gives altered, foreign and expired ids the same error', () => {
    const flipped = sealed.slice(0, -3) + (sealed.at(-3) === 'A' ? 'B' : 'A') + sealed.slice(-2);
    const otherKey = { ...owner, key: { id: 'other' } };
    const otherServer = { ...owner, server: { id: 'other' } };
    const other = new LegacySessions(() => randomBytes(32));
    const errors = [
      errorOf(() => sessions.open(flipped, owner, start)),
      errorOf(() => sessions.open(sealed, otherKey, start)),
      errorOf(() => sessions.open(sealed, otherServer, start)),
      errorOf(() => sessions.open(sealed, owner, start + 7 * dayMs)),
      errorOf(() => sessions.open('bridge.', owner, start)),
      errorOf(() => sessions.open(`bridge.${'x'.repeat(9_999)}`, owner, start)),
      errorOf(() => other.open(sealed, owner, start)),
    ];
    expect(errors).toEqual(errors.map(() => gone));
  });

  it('seals the ids of questions and the values of notes for itself', () => {
    const id = sessions.sealQuestion('call.1.2', session, owner);
    const another = sessionOf(params, start);
    expect(sessions.openQuestion(id, session, owner)).toBe('call.1.2');
    expect(sessions.openQuestion(id, another, owner)).toBeNull();
    expect(sessions.openQuestion(id, session, { ...owner, key: { id: 'other' } })).toBeNull();
    expect(sessions.openQuestion(7, session, owner)).toBeNull();
    const note = sessions.sealNote('{"secret":1}', session);
    expect(note).not.toContain('secret');
    expect(sessions.openNote(note, session)).toBe('{"secret":1}');
    expect(sessions.openNote(note, another)).toBeNull();
  });
});
