/** Measures what a translation adds: messages at a provider of chats, beside chats at the same provider. */
import type { Row } from '../harness.ts';
import { median, quartilesOf } from '../harness.ts';
import { type Arena, chatBody, streamBody } from './arena.ts';
import { Connection, requestBytes } from './load-client.ts';
import { drive, type LoadTarget } from './throughput.ts';

const warmUp = 10_000;
const rounds = 9;
const count = 2_000;
const connections = 64;
const streamSamples = 250;
const streamEvents = 12;

type Forms = Readonly<Record<'chat' | 'messages', Buffer>>;

/** The same question as a chat and as a message. */
function formsOf(key: string, chat: object): Forms {
  const authorization = { authorization: `Bearer ${key}` };
  const { messages, ...rest } = chat as { readonly messages: readonly { role: string }[] };
  const system = messages.find(({ role }) => role === 'system') as { content?: string } | undefined;
  const message = {
    ...rest,
    ...(system === undefined ? {} : { system: system.content }),
    messages: messages.filter(({ role }) => role !== 'system'),
  };
  return {
    chat: requestBytes(authorization, chat),
    messages: requestBytes(authorization, message, '/v1/messages'),
  };
}

export async function translationRows(arena: Arena, scale: number): Promise<Row[]> {
  const { ours, bare } = arena.running;
  const key = arena.tenant.limitedKey;
  const rows: Row[] = [];
  for (const [kind, body] of [
    ['a JSON request', chatBody()],
    [`a stream of ${streamEvents} events`, streamBody(streamEvents, 1)],
  ] as const) {
    const forms = formsOf(key, body);
    const targets: readonly LoadTarget[] = [
      { name: 'bare', contestant: bare, bytes: arena.request('bare', body), count },
      { name: 'chat', contestant: ours, bytes: forms.chat, count },
      { name: 'messages', contestant: ours, bytes: forms.messages, count },
    ];
    const first = targets.map((one) => ({ ...one, count: Math.ceil(warmUp * scale) }));
    await drive(first, 0, connections);
    const driven = await drive(targets, Math.ceil(rounds * scale), connections);
    const [own, chat, messages] = ['bare', 'chat', 'messages'].map(
      (name) => driven.get(name)!.cpuUs,
    );
    const added = messages!.map((us, at) => us - chat![at]!);
    const [lower, ratio, upper] = quartilesOf(added.map((us, at) => us / own![at]!));
    const metric = `CPU that translation adds to ${kind}, over L`;
    rows.push(
      { metric, ratio, aim: 0.6, quartiles: [lower, upper] },
      { metric: `CPU of ${kind} that is translated, µs`, ratio: median(messages!), aim: null },
      { metric: `CPU that translation adds to ${kind}, µs`, ratio: median(added), aim: null },
    );
  }
  return [...rows, await firstByteRow(arena, Math.ceil(streamSamples * scale))];
}

/** Chats and messages alternate on connections of their own, so that both meet the same load. */
async function firstByteRow(arena: Arena, samples: number): Promise<Row> {
  const forms = formsOf(arena.tenant.limitedKey, streamBody(5, 4));
  const { url } = arena.running.ours;
  const [chat, messages] = [await Connection.open(url), await Connection.open(url)];
  const differences: number[] = [];
  for (let sample = 0; sample < samples; sample += 1) {
    const { firstMs: own } = await chat.send(forms.chat);
    const { firstMs } = await messages.send(forms.messages);
    differences.push(firstMs - own);
  }
  chat.close();
  messages.close();
  const metric = 'first byte of a stream that translation adds, ms';
  return { metric, ratio: median(differences), must: 1, aim: 1 };
}
