/** Tests that files pass a gateway at the receiver's pace, and that a killed gateway leaves nothing uncharged. */
import { once } from 'node:events';
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as send,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { openProviderLists } from '../../../src/gateway/objects/provider-lists.ts';
import { chargeLostSlices } from '../../../src/jobs/charge-lost-slices.ts';
import { findLostObjects } from '../../../src/jobs/find-lost-objects.ts';
import { outcomeDelayMaxMs } from '../../../src/objects/listed-objects.ts';
import { readTrustedHosts } from '../../../src/trusted-hosts.ts';
import {
  type GatewayProcess,
  newMasterKeys,
  startGatewayProcess,
} from '../../gate/gateway-processes.ts';
import { exchange } from '../../support/network/exchange.ts';
import { eventually } from '../../support/server/eventually.ts';
import { jobContext } from '../../support/server/job-context.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { sendJson } from '../../support/upstream/upstream.ts';

const mebibyte = 1024 * 1024;
/** Far beyond the buffers of the system for a connection. */
const fileBytes = 128 * mebibyte;
/** Buffers of four connection ends, and of the gateway. */
const onTheWayBytesMax = 96 * mebibyte;
const piece = Buffer.alloc(64 * 1024, 'x');

let server: TestServer;
let provider: Server;
let trusted: string;
/** The gateway that keeps running. */
let gateway: GatewayProcess;
let ours: string;
let theirs: string;
/** Behaviour of the provider. */
let take: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
let made = 0;

const start = () => startGatewayProcess({ settings: server.settings, trusted });

beforeAll(async () => {
  provider = createServer((request, response) => {
    take(request, response).catch(() => response.destroy());
  });
  provider.listen(0, '127.0.0.1');
  await once(provider, 'listening');
  trusted = `127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const hosts = readTrustedHosts(trusted);
  const trustedHosts = 'hosts' in hosts ? hosts.hosts : [];
  server = await startTestServer({ settings: { masterKeys: newMasterKeys(), trustedHosts } });
  server.clock.set(Date.now());
  const post = async (path: string, body: object) => {
    const answer = await server.request('POST', path, { body });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body;
  };
  const integration = await post('/v1/integrations', {
    name: 'Keeper',
    slug: 'keeper',
    ai_provider_id: 'openai',
    key: 'sk-any',
    configurations: { custom_host: `http://${trusted}/v1` },
    capabilities: { files: 'proxy' },
  });
  const keyOf = async (name: string): Promise<string> => {
    const { id: workspace_id } = await post('/v2/workspaces', { name });
    const fields = { name, integration_id: integration.id, workspace_id };
    const { slug } = await post('/v1/providers', fields);
    const config = { name, workspace_id, config: { provider: `@${slug}` } };
    const { slug: config_id } = await post('/v2/configs', config);
    const { key } = await post('/v1/api-keys/workspace/service', {
      name,
      workspace_id,
      scopes: ['completions.write'],
      defaults: { config_id },
      rate_limits: [{ type: 'requests', unit: 'rpd', value: 1_000 }],
    });
    return key;
  };
  ours = await keyOf('ours');
  theirs = await keyOf('theirs');
  gateway = await start();
});

beforeEach(() => {
  take = keep;
});

afterAll(async () => {
  await gateway.kill();
  await server[Symbol.asyncDispose]();
  provider.closeAllConnections();
  await new Promise((resolve) => provider.close(resolve));
});

/** Reads the whole body and returns a file. */
async function keep(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let bytes = 0;
  for await (const some of request) bytes += some.length;
  made += 1;
  sendJson(response, { id: `file-${made}`, object: 'file', bytes });
}

interface Sending {
  readonly form: ClientRequest;
  /** Bytes read so far. */
  bytes: number;
  readonly answer: Promise<{ status: number; body: { id: string; bytes: number } }>;
}

/** Sends this many bytes as one form, no faster than they are read; the rest of the announced length is never sent. */
function upload(to: GatewayProcess, bytes: number, stated = bytes): Sending {
  const form = send(`${to.inferenceUrl}/v1/files`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${ours}`,
      'content-length': stated,
      'content-type': 'multipart/form-data; boundary=b',
    },
  });
  const answered = Promise.withResolvers<Awaited<Sending['answer']>>();
  form.on('error', answered.reject).on('response', async (response) => {
    const body = (await response.toArray().catch(() => [])) as Buffer[];
    const text = Buffer.concat(body).toString();
    answered.resolve({ status: response.statusCode!, body: JSON.parse(text || '{}') });
  });
  const sending: Sending = { form, bytes: 0, answer: answered.promise };
  const write = async () => {
    while (sending.bytes < bytes) {
      if (!form.write(piece)) await once(form, 'drain');
      sending.bytes += piece.length;
    }
    if (bytes === stated) form.end();
  };
  write().catch(answered.reject);
  return sending;
}

const pending = () => server.database.db.selectFrom('pending_objects').selectAll().execute();

const ask = (key: string, path: string) =>
  exchange('GET', `${gateway.inferenceUrl}/v1${path}`, undefined, {
    authorization: `Bearer ${key}`,
  });

/** Counts of the jobs for the remainder, this long after now. */
async function runJobs(afterMs: number) {
  const { database, app, settings, clock } = server;
  await database.db.updateTable('usage_holders').set({ lease_until: 0 }).execute();
  await using lists = openProviderLists({
    database,
    clock,
    unsealerOf: app.keyring.unsealerOf,
    mayBeItself: false,
    trustedHosts: settings.trustedHosts,
    onSecretFailure: () => {},
    onSecretRead: () => {},
  });
  const context = jobContext(database, Date.now() + afterMs);
  const warn = vi.spyOn(context.log, 'warn');
  const lost = await findLostObjects(lists).run(context);
  await chargeLostSlices().run(context);
  return { lost, reported: warn.mock.calls.map(([fields]) => fields as unknown) };
}

it.each(['half', 'all'] as const)(
  'is charged when the gateway is killed once %s of a file has reached the provider',
  async (share) => {
    const bytes = 4 * mebibyte;
    const enough = share === 'half' ? bytes / 2 : bytes;
    const [came, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    take = async (request, response) => {
      let seen = 0;
      response.on('close', () => gone.resolve());
      for await (const some of request) {
        seen += some.length;
        if (seen >= enough) came.resolve();
      }
    };
    const mortal = await start();
    const cut = upload(mortal, enough, bytes);
    const failed = expect(cut.answer).rejects.toThrow();
    await came.promise;
    await mortal.kill();
    await Promise.all([failed, gone.promise]);

    const [row, ...others] = await pending();
    expect(others).toEqual([]);
    expect(row).toMatchObject({ kind: 'files', mark: null });
    take = keep;
    const { status, body } = await upload(gateway, 2 * mebibyte).answer;
    expect({ status, bytes: body.bytes }).toEqual({ status: 200, bytes: 2 * mebibyte });
    expect(await pending()).toEqual([row]);
    take = async (_, response) => sendJson(response, { data: [{ id: body.id }], has_more: false });
    expect((await ask(theirs, `/files/${body.id}`)).status).toBe(404);

    const early = await runJobs(outcomeDelayMaxMs / 2);
    expect([early.lost, early.reported]).toEqual([{ found: 0, unfound: 0, postponed: 0 }, []]);
    const late = await runJobs(outcomeDelayMaxMs + 60_000);
    expect(late.lost).toEqual({ found: 0, unfound: 1, postponed: 0 });
    const { organisation_id: organisationId, workspace_id: workspaceId } = row!;
    expect(late.reported).toEqual([
      expect.objectContaining({ organisationId, workspaceId, kind: 'files' }),
    ]);
    expect(await pending()).toEqual([]);
    // A gateway that was busy a moment ago may reserve again before it becomes idle.
    const { db } = server.database;
    await eventually(async () => {
      await runJobs(outcomeDelayMaxMs);
      expect(await db.selectFrom('usage_slices').selectAll().execute()).toEqual([]);
      const counters = await db.selectFrom('rate_counters').selectAll().execute();
      const sumOf = (column: 'used_units' | 'reserved_units') =>
        counters.reduce((sum, counter) => sum + Number(counter[column]), 0);
      expect(sumOf('reserved_units')).toBe(0);
      expect(sumOf('used_units')).toBeGreaterThanOrEqual(2);
    });
  },
);

it('reads from the sender no faster than the provider reads', async () => {
  const [requested, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  take = async (request, response) => {
    take = keep;
    requested.resolve();
    await goOn.promise;
    await keep(request, response);
  };
  const waiting = upload(gateway, fileBytes);
  await requested.promise;
  // Another upload of the same size completes, so only the provider holds this one up.
  expect((await upload(gateway, fileBytes).answer).body.bytes).toBe(fileBytes);
  expect(waiting.bytes).toBeLessThan(onTheWayBytesMax);
  goOn.resolve();
  expect((await waiting.answer).body.bytes).toBe(fileBytes);
});

it('reads from the provider no faster than the caller reads', async () => {
  const { id } = (await upload(gateway, 2 * mebibyte).answer).body;
  const sent: number[] = [];
  take = async (_, response) => {
    const at = sent.push(0) - 1;
    response.writeHead(200, { 'content-type': 'a/b', 'content-length': fileBytes });
    while (sent[at]! < fileBytes) {
      if (!response.write(piece)) await once(response, 'drain');
      sent[at]! += piece.length;
    }
    response.end();
  };
  const read = async () => {
    const headers = { authorization: `Bearer ${ours}` };
    const asking = send(`${gateway.inferenceUrl}/v1/files/${id}/content`, { headers }).end();
    const [response] = (await once(asking, 'response')) as [IncomingMessage];
    return response;
  };
  const lengthOf = async (response: IncomingMessage) => {
    let bytes = 0;
    for await (const some of response) bytes += some.length;
    return bytes;
  };
  const waiting = await read();
  // Another download completes, so only its reader holds this one up.
  expect(await lengthOf(await read())).toBe(fileBytes);
  expect(sent[0]).toBeLessThan(onTheWayBytesMax);
  expect(await lengthOf(waiting)).toBe(fileBytes);
});
