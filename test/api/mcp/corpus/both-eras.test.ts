/** Verifies attacks on relays and on the bridge alike, for clients and servers of each era; journals and responses are the witnesses. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callInBytes, eraWays } from '../../../support/mcp/era-client.ts';
import { openResponse } from '../../../support/mcp/event-client.ts';
import { ModernCaller } from '../../../support/mcp/modern-caller.ts';
import { isModernRequest, speakOnly } from '../../../support/mcp/one-era.ts';
import {
  type CreatedResource,
  type McpTestPlane,
  startMcpTestPlane,
} from '../../../support/server/mcp-plane.ts';

let plane: McpTestPlane;
let key: string;
let open: CreatedResource;
/** Its arguments and results are judged. */
let guarded: CreatedResource;
const forbidden = 'mellon';

async function addGuarded(): Promise<CreatedResource> {
  const server = await plane.addServer();
  const check = { id: 'default.contains', parameters: { words: [forbidden], operator: 'none' } };
  await plane.guard(server, [check], { run_on: ['input', 'output'] });
  return server;
}

beforeAll(async () => {
  plane = await startMcpTestPlane();
  ({ key } = await plane.addKey());
});
// The era of a server is remembered.
beforeEach(async () => {
  plane.upstream.journal.length = 0;
  Object.assign(plane.upstream, { streams: false, answer: null, script: null, before: [] });
  [open, guarded] = [await plane.addServer(), await addGuarded()];
});
afterAll(() => plane[Symbol.asyncDispose]());

/** Has calls of tools answered with these bytes, in which ID stands for the id; other requests as usual. */
function answerCalls(json: string, isStream = false): void {
  const { upstream } = plane;
  const era = upstream.intercept;
  upstream.intercept = async (entry, response) => {
    if (await era?.(entry, response)) return true;
    if (entry.body?.method !== 'tools/call') return false;
    const text = json.replaceAll('ID', () => JSON.stringify(entry.body.id));
    response.writeHead(200, {
      'content-type': isStream ? 'text/event-stream' : 'application/json',
    });
    response.end(isStream ? `data: ${text}\n\n` : text);
    return true;
  };
}

const called = () => plane.upstream.journal.filter(({ body }) => body?.method === 'tools/call');

const hostileArguments: [string, string][] = [
  ['a member __proto__', `{"__proto__":{"text":"${forbidden}"}}`],
  ['a text in a member __proto__', `{"__proto__":"${forbidden}"}`],
  ['a member that looks like an exact number', `{"n":{"rawJSON":"${forbidden}"}}`],
  ['a name in escapes', `{"say \\u006dellon":1}`],
  ['a text beside an exact number', `{"n":1e400,"text":"${forbidden}"}`],
  ['arguments that are a text', `"${forbidden}"`],
  ['arguments that are a list', `[-0,"${forbidden}"]`],
];

const hostileResults: [string, string][] = [
  [
    'a member __proto__',
    `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"__proto__":{"x":"${forbidden}"}}}`,
  ],
  [
    'a text in a member __proto__',
    `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"__proto__":"${forbidden}"}}`,
  ],
  [
    'the name of a member',
    `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"say ${forbidden}":1.0}}`,
  ],
  [
    'the message of an error',
    `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000.0,"message":"${forbidden}"}}`,
  ],
  [
    'the data of an error',
    `{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"x","data":{"y":["${forbidden}"]}}}`,
  ],
  [
    'a further member of an error',
    `{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"x","${forbidden} and":1}}`,
  ],
  ['an error that is a text', `{"jsonrpc":"2.0","id":ID,"error":"${forbidden}"}`],
  [
    'an embedded resource',
    `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"resource","resource":{"uri":"a:b","text":"${forbidden}"}}]}}`,
  ],
  [
    'metadata of the result',
    `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"_meta":{"note":"${forbidden}"}}}`,
  ],
  [
    'a member beside the result',
    `{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"note":"${forbidden}"}`,
  ],
  [
    'the first of two members of one name',
    `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"${forbidden}","text":"fine"}]}}`,
  ],
  [
    'a member that looks like an exact number',
    `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"n":{"rawJSON":"${forbidden}"}}}`,
  ],
];

describe.each(eraWays)('a call %s', (_, client, speaks) => {
  const call = (slug: string, args = '{}', name = 'echo') =>
    callInBytes(plane, { client, key, slug, args, name });
  beforeEach(() => speakOnly(plane.upstream, speaks));

  it.each(hostileArguments)('is denied with a denied text in %s', async (_what, args) => {
    const { text } = await call(guarded.slug, args);
    expect(text).toMatch(/-32446|-32602|-32600/);
    expect(text).not.toContain(forbidden);
    expect(called()).toEqual([]);
  });

  it.each(hostileResults)('returns no denied text in %s', async (_what, json) => {
    for (const isStream of [false, true]) {
      speakOnly(plane.upstream, speaks);
      answerCalls(json, isStream);
      const { text } = await call(guarded.slug);
      expect(called().length).toBeGreaterThan(0);
      expect(text).not.toContain(forbidden);
    }
  });

  it('ends with one error when the result is nested without end', async () => {
    const deep = `${'['.repeat(30_000)}1.0${']'.repeat(30_000)}`;
    for (const isStream of [false, true]) {
      for (const { slug } of [open, guarded]) {
        speakOnly(plane.upstream, speaks);
        answerCalls(`{"jsonrpc":"2.0","id":ID,"result":{"content":[],"deep":${deep}}}`, isStream);
        const { status, text } = await call(slug);
        const isRelayed = text.includes('[[[[');
        expect([slug, isRelayed || /"code":-32\d{3}/.test(text)]).toEqual([slug, true]);
        expect(status).not.toBe(500);
        // The gateway serves the next call.
        speakOnly(plane.upstream, speaks);
        expect((await call(slug)).text).toContain('done');
      }
    }
  });

  it('receives one message from a result with events in its texts', async () => {
    const forged =
      '\\r\\n\\r\\ndata: {\\"jsonrpc\\":\\"2.0\\",\\"id\\":1,\\"result\\":{\\"forged\\":1}}\\n\\n';
    answerCalls(
      `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"${forged}\\u2028"}]}}`,
      true,
    );
    const { text } = await call(guarded.slug);
    expect(text.match(/^data:/gm) ?? ['whole']).toHaveLength(1);
    expect(text).not.toMatch(/^data: \{"jsonrpc":"2.0","id":1,"result":\{"forged"/m);
  });

  it('reaches no disabled tool by another spelling of its name', async () => {
    const integration = await plane.addIntegration({
      disabled_capabilities: [{ type: 'tool', name: 'drop_table' }],
    });
    const { slug } = await plane.addServer({}, integration);
    for (const name of [
      'drop_table',
      'Drop_Table',
      ' drop_table',
      'DROP_TABLE',
      'drop\u00ad_table',
    ]) {
      const { text } = await call(slug, '{}', name);
      expect([name, text]).toEqual([name, expect.stringMatching(/-32602|-32020/)]);
    }
    expect(called()).toEqual([]);
  });
});

describe('a header that repeats an argument', () => {
  async function addNamed(header: string): Promise<CreatedResource> {
    const integration = await plane.addIntegration();
    const property = { type: ['string', 'number'], 'x-mcp-header': header };
    const inputSchema = { type: 'object', properties: { region: property } };
    await plane.sync(integration, [{ name: 'echo', type: 'tool', inputSchema }]);
    return await plane.addServer({}, integration);
  }

  it('is another number when its digits differ beyond the precision of readers', async () => {
    speakOnly(plane.upstream, 'both');
    const { slug } = await addNamed('Region');
    const { body, headers } = new ModernCaller(plane, key, slug).request(
      'tools/call',
      { name: 'echo', arguments: { region: 0 } },
      {},
    );
    const text = JSON.stringify(body).replace('"region":0', '"region":9007199254740993');
    const statusWith = async (sent: string) => {
      const all = { ...headers, 'content-type': 'application/json', 'mcp-param-region': sent };
      return (await plane.send(key, slug, text, { headers: all })).status;
    };
    expect(await statusWith('9007199254740992')).toBe(400);
    expect(called()).toEqual([]);
    expect(await statusWith('9007199254740993')).toBe(200);
  });

  it.each(['eu\r\nx-evil: 1', '\u0000', '=?base64?ZXU=?=', ' eu ', 'é\u2028', '\ud800'])(
    'adds no other header when the bridge writes it: %j',
    async (region) => {
      speakOnly(plane.upstream, 'modern');
      const { slug } = await addNamed('Region');
      const args = JSON.stringify({ region });
      const { status } = await callInBytes(plane, { client: 'legacy', key, slug, args });
      expect(status).toBe(200);
      const { headers } = called().find(isModernRequest)!;
      expect(headers['x-evil']).toBeUndefined();
      expect(headers['mcp-param-region']).toMatch(/^=\?base64\?[\w+/]+=*\?=$/);
    },
  );

  it.each(['a\r\nx-evil: 1', 'a b', '', 'Ä', '__proto__', 'x'.repeat(300)])(
    'is left out or harmless when the server names it %j',
    async (header) => {
      speakOnly(plane.upstream, 'modern');
      const { slug } = await addNamed(header);
      const args = JSON.stringify({ region: 'eu' });
      const { status } = await callInBytes(plane, { client: 'legacy', key, slug, args });
      expect(status).toBe(200);
      expect(called().find(isModernRequest)!.headers['x-evil']).toBeUndefined();
    },
  );
});

describe('a legacy server that a modern client calls', () => {
  it('receives the answer under the id of its own question, in every form of the id', async () => {
    speakOnly(plane.upstream, 'legacy');
    const ids = ['1', '"1"', '1.5', '9007199254740993', '"9007199254740993"'];
    for (const id of ids) {
      const answers: string[] = [];
      const finish: (() => void)[] = [];
      speakOnly(plane.upstream, 'legacy');
      const era = plane.upstream.intercept!;
      plane.upstream.intercept = async (entry, response) => {
        if (await era(entry, response)) return true;
        if (entry.body?.result !== undefined) {
          answers.push(/"id":("[^"]*"|[\d.]+)/.exec(entry.text)![1]!);
          response.writeHead(202).end();
          for (const end of finish) end();
          return true;
        }
        if (entry.body?.method !== 'tools/call') return false;
        const params = '{"message":"who?","requestedSchema":{"type":"object","properties":{}}}';
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(
          `data: {"jsonrpc":"2.0","id":${id},"method":"elicitation/create","params":${params}}\n\n`,
        );
        const result = { jsonrpc: '2.0', id: entry.body.id, result: { content: [] } };
        finish.push(() => response.end(`data: ${JSON.stringify(result)}\n\n`));
        return true;
      };
      const client = new ModernCaller(plane, key, open.slug);
      const first = await client.callTool('echo');
      const { message } = await client.answer('echo', first, () => ({ action: 'decline' }));
      expect([id, message.result?.resultType, answers]).toEqual([id, 'complete', [id]]);
    }
  });

  it('passes progress under the token of the call only, in every form of a number', async () => {
    speakOnly(plane.upstream, 'legacy');
    const tokens = ['7', '7.0', '"7"', '8', '7.5', 'null', '{"rawJSON":"7"}'];
    const notices = tokens.map(
      (token, at) =>
        `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":${at}}}\n\n`,
    );
    speakOnly(plane.upstream, 'legacy');
    const era = plane.upstream.intercept!;
    plane.upstream.intercept = async (entry, response) => {
      if (await era(entry, response)) return true;
      if (entry.body?.method !== 'tools/call') return false;
      const result = { jsonrpc: '2.0', id: entry.body.id, result: { content: [] } };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`${notices.join('')}data: ${JSON.stringify(result)}\n\n`);
      return true;
    };
    const client = new ModernCaller(plane, key, open.slug);
    const { notices: received } = await client.callTool('echo', {}, { meta: { progressToken: 7 } });
    expect(received.map(({ params }) => params)).toEqual([
      { progressToken: 7, progress: 0 },
      { progressToken: 7, progress: 1 },
    ]);
  });
});

describe('a modern server that a legacy client calls', () => {
  it('receives the capabilities of the session, whatever a call claims, and no sealed id', async () => {
    speakOnly(plane.upstream, 'modern');
    const claimed = { 'io.modelcontextprotocol/clientCapabilities': { sampling: {} } };
    const session = await plane.openSession(key, open.slug, { _meta: claimed });
    await using answered = await openResponse(
      `${plane.server.mcpUrl}/${open.slug}/mcp`,
      key,
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'echo',
          arguments: {},
          _meta: claimed,
        },
      },
      session,
    );
    await answered.rest();
    expect(called()).toHaveLength(1);
    for (const { text, headers } of called()) {
      expect(text).not.toContain('"sampling"');
      expect(`${text}${JSON.stringify(headers)}`).not.toContain(session['mcp-session-id']);
    }
  });
});
