/** Defines a sequence of Vault requests, which is compared with a recording. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Secret } from '../../../src/secret.ts';
import type { DesiredResource } from '../../../src/sync/resources/resource-set.ts';
import { VaultSink } from '../../../src/sync/sinks/vault-sink.ts';
import type { VaultClient } from '../../../src/vault/vault-client.ts';
import type { VaultRequest, VaultResponse } from '../../../src/vault/vault-exchange.ts';

export interface Exchange {
  readonly request: VaultRequest;
  readonly answer: VaultResponse;
}

export const recordingFile = resolve(import.meta.dirname, '../../fixtures/vault/delivery.json');

/**
 * Recorded from a real Vault: test/cluster/key-vault.test.ts compares it, and updates it on
 * request.
 */
export function readRecording(): Exchange[] {
  return JSON.parse(readFileSync(recordingFile, 'utf8')) as Exchange[];
}

/** Keys of no server, the same in every run. */
const values = [
  'wire1lpsopbC2M9kyNz1oUjSzigHIgFtLLzUv42Mlpv',
  'wire2AaMDwEl0K2kimy6lowie8uweJNc5cNDd0l0LCp',
].map((text) => new Secret(text, 'test'));

/** Delivers a value, replaces it while keeping the previous one, finds it, and removes it. */
export async function tellStory(client: VaultClient): Promise<string[]> {
  const owner = { organisationId: 'acme', owner: 'platform' };
  const paths = [{ mount: 'secret', path: 'recorded' }];
  const sink = new VaultSink({ connect: async () => client, paths }, owner);
  const secretOutput = { sink: 'vault', mount: 'secret', path: 'recorded/bot', key: 'api-key' };
  const desired = { secretOutput } as unknown as DesiredResource;
  const [first, second] = values;
  const reported: string[] = [];
  const look = async (): Promise<void> => {
    const [set] = await sink.read([desired]);
    if (set === undefined || set instanceof Error) throw set;
    reported.push(
      `${set.delivered?.reveal().slice(0, 5) ?? 'nothing'}, ${set.pending.length} pending`,
    );
  };
  await look();
  const pending = await sink.writePending(desired, 7, first!.reveal());
  await look();
  await sink.publish(desired, pending, null);
  await look();
  const next = await sink.writePending(desired, 8, second!.reveal());
  await sink.keepAside(desired, 8);
  await sink.publish(desired, next, first!);
  await look();
  const found = await sink.list();
  reported.push(`${found.length} in the list`);
  const stored = { sink, place: sink.placeOf(desired), value: second! };
  const marked = await sink.markLeaving(stored, 9);
  reported.push(`${(await sink.listLeaving()).length} leaving`);
  await sink.removeLeft(marked);
  await look();
  return reported;
}

export const expectedTranscript = [
  'nothing, 0 pending',
  'nothing, 1 pending',
  'wire1, 0 pending',
  'wire2, 0 pending',
  '2 in the list',
  '1 leaving',
  'nothing, 0 pending',
];
