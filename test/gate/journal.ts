/** Provider of the gate: a real server that records each request before it responds. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { type FormName, outputTokensMaxIn, requestForms, textIn } from './forms.ts';
import type { PlanKind, ProviderInstructions } from './plan.ts';

/** Usage of a received request, by the provider's record. */
export interface Entry {
  readonly id: string;
  readonly form: FormName;
  readonly kind: PlanKind;
  /** Place of the target of a hedged request; empty for others. */
  readonly target: string;
  readonly atMs: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** As the gateway requested it, which may be less than the caller did. */
  readonly outputTokensMax: number;
  /** When the last byte of its response was sent; null before. */
  endedMs: number | null;
}

export interface Journal extends AsyncDisposable {
  /** `http://127.0.0.1:port/v1` */
  readonly url: string;
  readonly host: string;
  readonly entries: readonly Entry[];
  /** Called for each request before any response. */
  onEntry: (entry: Entry) => void;
}

export interface JournalOptions {
  /** Closes one in this many connections before reading the request, like an idle timeout. */
  readonly lostEvery?: number;
  /** Any free one by default. */
  readonly port?: number;
  /** Behaviour of the provider, by default as the request instructs. */
  readonly behave?: (reported: ProviderInstructions) => PlanKind;
  /** Further time before each response. */
  readonly delayMs?: () => number;
}

/** Longer than any timeout of a pool, and shorter than the patience of callers. */
const muteMs = 5_000;

/** Response to a request for the models of the provider. */
const modelList = '{"object":"list","data":[{"id":"m","object":"model"}]}';

export async function startJournal({
  lostEvery = 50,
  port: listenedPort = 0,
  behave = ({ kind }) => kind,
  delayMs = () => 0,
}: JournalOptions = {}): Promise<Journal> {
  const entries: Entry[] = [];
  let came = 0;
  const server = createServer(async (request, response) => {
    came += 1;
    if (came % lostEvery === 0) {
      request.destroy();
      return;
    }
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' }).end(modelList);
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    const reported = JSON.parse(textIn(body)!) as ProviderInstructions;
    const { id, form } = reported;
    const kind = behave(reported);
    const outputTokensMax = outputTokensMaxIn(body);
    const hasWorked = kind !== 'refused' && kind !== 'storm';
    const entry: Entry = {
      id,
      form,
      kind,
      target: body.user ?? '',
      atMs: Date.now(),
      endedMs: null,
      outputTokensMax,
      inputTokens: hasWorked ? reported.inputTokens : 0,
      outputTokens: hasWorked ? Math.min(outputTokensMax, reported.outputTokens) : 0,
    };
    entries.push(entry);
    response.once('finish', () => {
      entry.endedMs = Date.now();
    });
    journal.onEntry(entry);
    const delay = delayMs();
    if (delay > 0) await wait(delay);
    await answer(response, entry, reported).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) =>
    server.listen(listenedPort, '127.0.0.1', 4096, () => resolve()),
  );
  const { port } = server.address() as AddressInfo;
  const journal: Journal = {
    url: `http://127.0.0.1:${port}/v1`,
    host: `127.0.0.1:${port}`,
    entries,
    onEntry: () => undefined,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return journal;
}

async function answer(
  response: ServerResponse,
  entry: Entry,
  { kind: requested, pauseMs }: ProviderInstructions,
): Promise<void> {
  const { form, kind, inputTokens: input, outputTokens: output } = entry;
  const { answer: answerOf, stream } = requestForms[form];
  const isStream = stream !== null && (requested === 'stream' || requested === 'left');
  if (isStream && (kind === requested || kind === 'cut')) {
    const { contentType, first, rest } = stream({ input, output });
    response.writeHead(200, { 'content-type': contentType });
    response.write(first);
    await wait(pauseMs);
    if (kind === requested) return void response.end(rest);
    return breakOff(response, rest);
  }
  await wait(pauseMs);
  if (kind === 'mute') await wait(muteMs);
  if (kind === 'reset' || kind === 'mute') return void response.socket?.resetAndDestroy();
  if (kind === 'garbage') {
    response.writeHead(200, { 'content-type': 'text/html' });
    return void response.end('<html><body>It works!</body></html>');
  }
  if (kind === 'refused' || kind === 'storm') {
    const headers = { 'content-type': 'application/json' };
    if (kind === 'refused') response.writeHead(500, headers);
    else response.writeHead(429, { ...headers, 'retry-after': '1' });
    return void response.end('{"error":{}}');
  }
  const bytes = Buffer.from(JSON.stringify(answerOf(kind === 'silent' ? null : { input, output })));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
  if (kind !== 'cut') return void response.end(bytes);
  await breakOff(response, bytes);
}

/** Sends half of the bytes. */
async function breakOff(response: ServerResponse, bytes: Buffer): Promise<void> {
  response.write(bytes.subarray(0, bytes.length / 2));
  await wait(1);
  response.destroy();
}
