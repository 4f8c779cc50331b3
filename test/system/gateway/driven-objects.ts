/** Uses stored objects with the OpenAI SDK, and records responses in a form that two gateways can be compared by. */
import type OpenAI from 'openai';
import { toFile } from 'openai';

export const poll = { pollIntervalMs: 20 };
export const weather = {
  type: 'function' as const,
  function: { name: 'weather', parameters: { type: 'object', properties: {} } },
};

/** Comparable responses: ids replaced by numbers, without times. */
class Transcript {
  readonly reported: [string, unknown][] = [];
  readonly #ids = new Map<string, string>();

  add(what: string, answer: unknown): void {
    this.reported.push([what, this.#plain(JSON.parse(JSON.stringify(answer)))]);
  }

  async refused(what: string, answer: Promise<unknown>): Promise<void> {
    const error = await answer.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    const { status, code, param, type } = error as InstanceType<typeof OpenAI.APIError>;
    this.reported.push([what, { status, code, param, type }]);
  }

  async events(what: string, stream: AsyncIterable<unknown>): Promise<void> {
    const events: unknown[] = [];
    for await (const event of stream) events.push(event);
    this.add(what, events);
  }

  #plain(value: unknown): unknown {
    if (typeof value === 'string') return value.replace(anyId, (id) => this.#idOf(id));
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((one) => this.#plain(one));
    const members = Object.entries(value).map(([name, member]) => {
      const isTime = name.endsWith('_at') && typeof member === 'number';
      return [name, isTime ? 'a time' : this.#plain(member)];
    });
    return Object.fromEntries(members);
  }

  #idOf(id: string): string {
    const known = this.#ids.get(id) ?? `${id.split(/[_-]/)[0]} ${this.#ids.size}`;
    this.#ids.set(id, known);
    return known;
  }
}

const anyId = /[a-z]+[_-](?:in)?(?:gw)?[0-9a-f]{24,}/g;

export const textFile = (text: string, name: string) => toFile(Buffer.from(text), name);

async function driveFiles(client: OpenAI, transcript: Transcript): Promise<string> {
  const file = await client.files.create({
    file: await textFile('Newts are wet.', 'newts.txt'),
    purpose: 'assistants',
  });
  transcript.add('file', file);
  transcript.add('file again', await client.files.retrieve(file.id));
  transcript.add('files', (await client.files.list()).data);
  transcript.add('content', await (await client.files.content(file.id)).text());
  const store = await client.vectorStores.create({ name: 'animals', metadata: { a: 'b' } });
  transcript.add('store', store);
  transcript.add('changed', await client.vectorStores.update(store.id, { name: 'wet ones' }));
  const frogs = await textFile('Frogs are green.', 'frogs.txt');
  const read = await client.vectorStores.files.uploadAndPoll(store.id, frogs, poll);
  transcript.add('uploadAndPoll', read);
  const files = await Promise.all(['Toads.', 'Eels.'].map((text) => textFile(text, 'one.txt')));
  const batch = await client.vectorStores.fileBatches.uploadAndPoll(
    store.id,
    { files, fileIds: [file.id] },
    poll,
  );
  transcript.add('fileBatches.uploadAndPoll', batch);
  const inBatch = await client.vectorStores.fileBatches.listFiles(batch.id, {
    vector_store_id: store.id,
  });
  transcript.add('of the batch', inBatch.data.length);
  transcript.add(
    'files of the store',
    (await client.vectorStores.files.list(store.id)).data.length,
  );
  const of = { vector_store_id: store.id };
  transcript.add('changed file', [
    await client.vectorStores.files.update(read.id, { ...of, attributes: { kind: 'frog' } }),
    (await client.vectorStores.files.content(read.id, of)).data,
  ]);
  const filters = { type: 'eq' as const, key: 'kind', value: 'frog' };
  const found = await client.vectorStores.search(store.id, { query: 'frogs', filters });
  transcript.add('search', found.data);
  transcript.add('store again', await client.vectorStores.retrieve(store.id));
  transcript.add('stores', (await client.vectorStores.list()).data);
  await transcript.refused('no query', client.vectorStores.search(store.id, {} as never));
  await transcript.refused(
    'no such file',
    client.vectorStores.files.create(store.id, { file_id: `file-${'0'.repeat(32)}` }),
  );
  transcript.add('taken out', await client.vectorStores.files.delete(file.id, of));
  transcript.add('deleted', await client.files.delete(file.id));
  await transcript.refused('deleted file', client.files.retrieve(file.id));
  return store.id;
}

async function driveRuns(client: OpenAI, transcript: Transcript, storeId: string): Promise<void> {
  const { assistants, threads } = client.beta;
  const assistant = await assistants.create({
    model: 'gpt-test',
    instructions: 'Be brief.',
    metadata: { a: 'b' },
    tools: [weather, { type: 'file_search' }],
    tool_resources: { file_search: { vector_store_ids: [storeId] } },
  });
  const { id: assistant_id } = assistant;
  transcript.add('assistant', assistant);
  transcript.add('changed', await assistants.update(assistant_id, { name: 'It' }));
  transcript.add('assistants', (await assistants.list()).data);
  const thread = await threads.create({ messages: [{ role: 'user', content: 'hello' }] });
  transcript.add('thread', await threads.update(thread.id, { metadata: { c: 'd' } }));
  const message = { role: 'user', content: 'search' } as const;
  transcript.add('message', await threads.messages.create(thread.id, message));
  const run = await threads.runs.createAndPoll(thread.id, { assistant_id }, poll);
  transcript.add('createAndPoll', run);
  const of = { thread_id: thread.id, order: 'asc' as const };
  transcript.add('steps', (await threads.runs.steps.list(run.id, of)).data);
  transcript.add('messages', (await threads.messages.list(thread.id, { limit: 2 })).data);
  transcript.add('runs', (await threads.runs.list(thread.id)).data);
  const asking = { messages: [{ role: 'user' as const, content: 'ask' }] };
  for (const output of ['rain', 'sun']) {
    const waiting = await threads.createAndRunPoll({ assistant_id, thread: asking }, poll);
    transcript.add('createAndRunPoll', waiting);
    const { thread_id } = waiting;
    const outputs = (id: string) => ({ thread_id, tool_outputs: [{ tool_call_id: id, output }] });
    await transcript.refused(
      'unknown call',
      threads.runs.submitToolOutputs(waiting.id, outputs('call_other')),
    );
    const given = outputs('call_weather');
    if (output === 'rain') {
      const ended = await threads.runs.submitToolOutputsAndPoll(waiting.id, given, poll);
      transcript.add('submitToolOutputsAndPoll', ended);
    } else {
      const stream = threads.runs.submitToolOutputsStream(waiting.id, given);
      await transcript.events('submitToolOutputsStream', stream);
    }
    await transcript.refused('late', threads.runs.submitToolOutputs(waiting.id, given));
  }
  const streamed = await threads.create(asking);
  await transcript.events('stream', threads.runs.stream(streamed.id, { assistant_id }));
  const [left] = (await threads.runs.list(streamed.id)).data;
  await transcript.refused(
    'busy thread',
    threads.messages.create(streamed.id, { role: 'user', content: 'more' }),
  );
  transcript.add('cancelled', await threads.runs.cancel(left!.id, { thread_id: streamed.id }));
  await transcript.events('createAndRunStream', threads.createAndRunStream({ assistant_id }));
  transcript.add('deleted', [
    await threads.delete(thread.id),
    await assistants.delete(assistant_id),
  ]);
  await transcript.refused('deleted thread', threads.retrieve(thread.id));
  await transcript.refused('deleted one', threads.runs.create(streamed.id, { assistant_id }));
}

async function driveResponses(client: OpenAI, transcript: Transcript): Promise<void> {
  const { responses } = client;
  const first = await responses.create({ model: 'gpt-test', input: 'hello' });
  transcript.add('response', first);
  transcript.add('again', await responses.retrieve(first.id));
  transcript.add('inputItems', (await responses.inputItems.list(first.id)).data);
  const streamed = responses.stream({
    model: 'gpt-test',
    input: 'ask',
    previous_response_id: first.id,
    tools: [{ ...weather.function, type: 'function', strict: null }],
  });
  await transcript.events('stream', streamed);
  const { id } = await streamed.finalResponse();
  const rest = await responses.retrieve(id, { stream: true, starting_after: 2 });
  await transcript.events('starting_after', rest);
  transcript.add('items of both', (await responses.inputItems.list(id)).data);
  transcript.add('deleted', await responses.delete(first.id));
  await transcript.refused('deleted response', responses.retrieve(first.id));
  await transcript.refused(
    'on from it',
    responses.create({ model: 'gpt-test', input: 'on', previous_response_id: first.id }),
  );
  const background = { model: 'gpt-test', input: 'later', background: true };
  const later = await responses.create(background);
  transcript.add('background', later);
  transcript.add('cancelled', await responses.cancel(later.id));
  await transcript.refused('foreground', responses.cancel(id));
}

/** Responses to creating, reading, changing and deleting one object of each kind, with every SDK helper. */
export async function driveObjects(client: OpenAI): Promise<readonly [string, unknown][]> {
  const transcript = new Transcript();
  const storeId = await driveFiles(client, transcript);
  await driveRuns(client, transcript, storeId);
  await driveResponses(client, transcript);
  return transcript.reported;
}
