/** Verifies that every member of messages of Gemini's live API is listed that Google's client can send or receive. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { liveMessageTokens, unboundedContent } from '../../../../src/model/realtime/live-input.ts';
import {
  callerMessages,
  providerMembers,
  setupMembers,
} from '../../../../src/model/realtime/live-messages.ts';
import { packageRoot } from '../../../../src/package-root.ts';

const types = readFileSync(
  join(packageRoot(), 'node_modules/@google/genai/dist/genai.d.ts'),
  'utf8',
);

/** Names of the members of a declared type. */
function membersOf(name: string): string[] {
  const pattern = new RegExp(`export declare (?:class|interface) ${name} \\{([\\s\\S]*?)\\n\\}`);
  const [, body = ''] = pattern.exec(types) ?? [];
  return [...body.matchAll(/^ {4}(\w+)\??: /gm)].map(([, member]) => member!).toSorted();
}

describe('the messages of the live API', () => {
  it('matches those of the types of Google', () => {
    expect([...setupMembers].toSorted()).toEqual(membersOf('LiveClientSetup'));
    const sent = membersOf('LiveClientMessage').filter((name) => name !== 'setup');
    expect([...callerMessages.keys()].toSorted()).toEqual(sent);
    expect([...providerMembers.keys()].toSorted()).toEqual(membersOf('LiveServerMessage'));
  });

  it.each([
    ['clientContent', 'LiveClientContent'],
    ['realtimeInput', 'LiveClientRealtimeInput'],
    ['toolResponse', 'LiveClientToolResponse'],
    ['contextUpdate', 'LiveClientContextUpdate'],
  ])('has in %s the members of the types of Google', (name, type) => {
    expect([...callerMessages.get(name)!].toSorted()).toEqual(membersOf(type));
  });
});

describe('the tokens of a message', () => {
  const sound = (mimeType: string) => ({
    realtimeInput: { audio: { data: 'A'.repeat(40_000), mimeType } },
  });

  it('follows the duration of sound, and its bytes in unknown formats', () => {
    // 30,000 bytes are 937 ms in 16,000 samples a second, of 32 tokens each second.
    expect(liveMessageTokens(sound('audio/pcm;rate=16000'))).toBeLessThan(130);
    expect(liveMessageTokens(sound('audio/pcm;rate=16000'))).toBeGreaterThanOrEqual(30);
    expect(liveMessageTokens(sound('audio/pcm;rate=1'))).toBeGreaterThanOrEqual(60);
    expect(liveMessageTokens(sound('audio/opus'))).toBeGreaterThan(40_000);
  });

  it('has no bound for films, documents and files of the provider', () => {
    const content = (part: object) => ({ clientContent: { turns: [{ parts: [part] }] } });
    const blob = (mimeType: string) => content({ inlineData: { data: 'AAAA', mimeType } });
    expect(unboundedContent(blob('video/mp4'))).toBe('mimeType');
    expect(unboundedContent(blob('application/pdf'))).toBe('mimeType');
    expect(unboundedContent(content({ fileData: {} }))).toBe('fileData');
    expect(unboundedContent(blob('image/png'))).toBeNull();
  });
});
