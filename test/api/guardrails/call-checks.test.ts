/** Verifies checks of tool calls, request parameters and images on requests through the gateway. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

const png = Buffer.from('89504e470d0a1a0a0000', 'hex');
const images = createServer((request, response) => {
  if (request.url === '/page') response.end('<html>an internal page</html>');
  else if (request.url === '/large') response.end(Buffer.concat([png, Buffer.alloc(5_000)]));
  else if (request.url === '/moved') response.writeHead(302, { location: '/one' }).end();
  else response.writeHead(200, { 'content-type': 'image/jpeg' }).end(png);
});

let inference: Inference;
let key: string;
let imagesUrl: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => images.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(images.address() as AddressInfo).port}`;
  imagesUrl = `http://${host}`;
  inference = await startInference({}, [host]);
  ({ key } = await inference.addKey());
});
beforeEach(() => {
  inference.upstream.reached.length = 0;
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
});
afterAll(async () => {
  await inference[Symbol.asyncDispose]();
  images.close();
});

const sent = () => JSON.parse(String(inference.upstream.reached[0]!.body));

describe('default.inlineImageUrls', () => {
  const config = (more: object = {}, actions: object = { deny: true }) => ({
    input_guardrails: [{ 'default.inlineImageUrls': more, ...actions }],
  });
  const asking = (url: string) => ({
    messages: [
      { role: 'user', content: [{ type: 'image_url', image_url: { url, detail: 'low' } }] },
      { role: 'user', content: 'what is it?' },
    ],
  });

  it('sends the image in place of its address, with the type of its bytes', async () => {
    const { status } = await inference.chat(key, {
      config: config(),
      params: asking(`${imagesUrl}/one`),
    });
    expect(status).toBe(200);
    const url = `data:image/png;base64,${png.toString('base64')}`;
    expect(sent().messages[0].content[0]).toEqual({
      type: 'image_url',
      image_url: { url, detail: 'low' },
    });
  });

  it.each([
    ['no image', '/page', {}],
    ['a redirect', '/moved', {}],
    ['too many bytes', '/large', { maxSizeBytes: 1_000 }],
  ])('denies what it cannot fetch: %s', async (_, path, parameters) => {
    const options = { config: config(parameters), params: asking(imagesUrl + path) };
    const { status, body } = await inference.chat(key, options);
    expect(status).toBe(446);
    expect(JSON.stringify(body)).not.toContain('internal page');
    expect(inference.upstream.reached).toHaveLength(0);
  });

  it('denies an address that the gateway must not reach', async () => {
    const params = asking('http://169.254.169.254/latest/meta-data');
    expect((await inference.chat(key, { config: config(), params })).status).toBe(446);
  });

  it('leaves addresses to providers that are not in its list', async () => {
    const params = asking(`${imagesUrl}/one`);
    const options = { config: config({ providers: ['anthropic'] }), params };
    expect((await inference.chat(key, options)).status).toBe(200);
    expect(sent().messages[0].content[0].image_url.url).toBe(`${imagesUrl}/one`);
  });

  it('changes nothing in mode monitor', async () => {
    const options = { config: config({}, { mode: 'monitor' }), params: asking(`${imagesUrl}/one`) };
    expect((await inference.chat(key, options)).status).toBe(200);
    expect(sent().messages[0].content[0].image_url.url).toBe(`${imagesUrl}/one`);
  });
});

describe('default.requestParametersCheck', () => {
  const tool = { type: 'function', function: { name: 'run', parameters: {} } };
  /** Entries in which providers of several formats read different tools. */
  const mixed = {
    'a second name': { type: 'function', name: 'run', function: { name: 'read' } },
    'a member of Gemini': { functionDeclarations: [{ name: 'read' }], google_search: {} },
    'declarations in both spellings': {
      functionDeclarations: [{ name: 'read' }],
      function_declarations: [{ name: 'run' }],
    },
  };
  it.each(Object.entries(mixed))('refuses a tool with %s', async (_, entry) => {
    const parameters = {
      tools: { blockedFunctionNames: ['run'], blockedTypes: ['googleSearch'] },
    };
    const config = {
      input_guardrails: [{ 'default.requestParametersCheck': parameters, deny: true }],
    };
    const { status } = await inference.chat(key, { config, params: { tools: [entry] } });
    expect(status).toBe(446);
  });

  it.each([
    [{ tools: { blockedTypes: ['function'] } }, { tools: [tool] }, 446],
    [{ tools: { allowedTypes: ['function'] } }, { tools: [tool] }, 200],
    [{ tools: { allowedFunctionNames: ['read'] } }, { tools: [tool] }, 446],
    [{ tools: { blockedFunctionNames: ['run'] } }, { functions: [{ name: 'run' }] }, 446],
    [{ params: { blockedKeys: ['logprobs'] } }, { logprobs: true }, 446],
    [{ params: { allowedKeys: ['model', 'messages'] } }, { seed: 1 }, 446],
    [{ params: { values: { temperature: { allowedValues: [0] } } } }, { temperature: 1 }, 446],
    [{ params: { values: { temperature: { blockedValues: [1] } } } }, { temperature: 0 }, 200],
  ])('%j answers %j with %i', async (parameters, params, expected) => {
    const config = {
      input_guardrails: [{ 'default.requestParametersCheck': parameters, deny: true }],
    };
    expect((await inference.chat(key, { config, params })).status).toBe(expected);
  });
});

describe('gatewright.toolArguments', () => {
  it('denies a response whose call breaks a rule, streamed or not', async () => {
    const rules = [{ tools: ['read_file'], path: '$.path', allow: ['^/srv/'] }];
    const config = {
      output_guardrails: [{ 'gatewright.toolArguments': { rules }, deny: true }],
    };
    const answering = (path: string, stream: boolean) => {
      const called = { name: 'read_file', arguments: JSON.stringify({ path }) };
      const tool_calls = [{ index: 0, id: 'call_1', type: 'function', function: called }];
      inference.upstream.script = (_, response) => {
        if (!stream) {
          sendJson(response, { ...chatAnswer, choices: [{ index: 0, message: { tool_calls } }] });
          return;
        }
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const choices = [{ index: 0, delta: { tool_calls } }];
        response.end(`data: ${JSON.stringify({ ...chatAnswer, choices })}\n\ndata: [DONE]\n\n`);
      };
      return inference.chat(key, { config, params: { stream } });
    };
    for (const stream of [false, true]) {
      expect((await answering('/etc/passwd', stream)).status).toBe(446);
      expect((await answering('/srv/a', stream)).status).toBe(200);
    }
  });

  it('refuses paths and patterns that are not valid', async () => {
    const make = (rule: object) =>
      inference.server.request('POST', '/v2/guardrails', {
        body: {
          name: 'rules',
          checks: [{ id: 'gatewright.toolArguments', parameters: { rules: [rule] } }],
          actions: {},
        },
      });
    const path = await make({ path: '$[?(@.a)]' });
    expect(path).toMatchObject({
      status: 400,
      body: { error: { param: 'checks[0].parameters.rules[0].path' } },
    });
    const pattern = await make({ path: '$.a', allow: ['a', '(?=b)'] });
    expect(pattern).toMatchObject({
      status: 400,
      body: { error: { param: 'checks[0].parameters.rules[0].allow[1]' } },
    });
  });
});
