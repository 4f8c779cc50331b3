/** Verifies the OpenAPI document: it is served, valid, and matches the registered routes. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { request as send } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exclusionsOf } from '../../../src/http/openapi/path-templates.ts';
import { describedOperations, operationKey } from '../../../src/http/openapi/texts/operations.ts';
import { allEndpoints, publicPath } from '../../../src/model/endpoints/catalogue.ts';
import { adminOperations } from '../../support/interface/response-check.ts';
import { exchange } from '../../support/network/exchange.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';

type Json = Record<string, unknown>;
interface Operation extends Json {
  operationId: string;
  summary: string;
  description: string;
  tags?: string[];
  security: Json[];
  parameters: {
    $ref?: string;
    name: string;
    in: string;
    required: boolean;
    description?: string;
    schema: Json;
  }[];
  requestBody?: {
    description: string;
    content: Record<string, { schema: Json; example?: unknown }>;
  };
  responses: Record<string, { description: string; content?: Record<string, { schema: Json }> }>;
}

describe('the OpenAPI document', () => {
  let server: TestServer;
  let document: Json & {
    paths: Record<string, Record<string, Operation>>;
    components: { securitySchemes: Json; schemas: Json };
  };
  beforeAll(async () => {
    server = await startTestServer();
    document = (await exchange('GET', `${server.url}/openapi.json`, undefined, {})).body;
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const ask = async (headers: Record<string, string>) => {
    const answer = await send(`${server.url}/openapi.json`, { headers });
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    return { status: answer.statusCode, headers: answer.headers, bytes, body: String(bytes) };
  };
  const operations = () =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );
  const ofTheAdminApi = () =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      adminOperations(methods).map(([method, operation]) => ({ path, method, operation })),
    );

  it('is OpenAPI 3.1 of interface version 2.0.0', () => {
    expect(document).toMatchObject({ openapi: '3.1.0', info: { version: '2.0.0' } });
    expect(operations().length).toBeGreaterThan(20);
  });

  it('gives every operation a unique name, a summary, a success and error responses', () => {
    const names = operations().map(({ operation }) => operation.operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const { operation } of operations()) {
      expect(operation.summary).not.toBe('');
      const statuses = Object.keys(operation.responses);
      expect(statuses.some((status) => /^20[014]$/.test(status))).toBe(true);
      expect(operation.description).toMatch(/^[A-Z].{16,}/);
      expect(operation.description).toMatch(/[.`]$/);
      expect(operation.description).not.toBe(`${operation.summary}.`);
      expect(statuses.some((status) => /^5(?:00|XX)$/.test(status))).toBe(true);
      for (const response of Object.values(operation.responses)) {
        expect(response.description).toEqual(expect.any(String));
      }
    }
  });

  it('describes every operation of the Admin API in its own words, and no other', () => {
    const served = new Set(
      ofTheAdminApi().map(({ path, method }) => {
        const below = path.replace(/^\/(?:v1|v2|admin\/v2)(?=\/)/, '');
        return operationKey(method.toUpperCase(), below);
      }),
    );
    expect([...served].toSorted()).toEqual(describedOperations.toSorted());
  });

  it('describes every parameter, every body and every field of a body', () => {
    const undescribed: string[] = [];
    for (const { path, method, operation } of operations()) {
      const { parameters, requestBody } = operation;
      for (const { $ref, name, description } of parameters) {
        if ($ref === undefined && !description) undescribed.push(`${method} ${path} ${name}`);
      }
      if (requestBody?.description === '') undescribed.push(`${method} ${path}`);
    }
    const visit = (value: unknown, place: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const { properties = {} } = value as { properties?: Record<string, Json> };
      for (const [name, field] of Object.entries(properties)) {
        const forms = [field, ...((field.anyOf ?? []) as Json[])];
        const isDescribed = forms.some((one) => 'description' in one || '$ref' in one);
        if (!isDescribed) undescribed.push(`${place}/${name}`);
      }
      for (const [key, inner] of Object.entries(value)) visit(inner, `${place}/${key}`);
    };
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      if (/(?:Create|Update|Patch|Delete|Request)(?:V1|V2)?$/.test(name)) visit(schema, name);
    }
    expect(undescribed).toEqual([]);
  });

  it('names its schemas like classes of a generated client', () => {
    const names = Object.keys(document.components.schemas);
    expect(names.filter((name) => !/^[A-Z][A-Za-z\d]*$/.test(name))).toEqual([]);
    expect(names).toEqual(
      expect.arrayContaining([
        'Guardrail',
        'GuardrailCreate',
        'GuardrailList',
        'ManagedBy',
        'ApiKeyRotateRequest',
        'ScimMapping',
        'ChangeSetCreate',
        'ChatCompletion',
      ]),
    );
  });

  it('gives examples that are valid by their schemas', () => {
    const ajv = new Ajv2020({ strict: false, inlineRefs: false });
    formats.default(ajv);
    ajv.addSchema(document, 'openapi');
    const escaped = (part: string): string =>
      encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
    let examples = 0;
    for (const { path, method, operation } of operations()) {
      for (const [type, { example }] of Object.entries(operation.requestBody?.content ?? {})) {
        if (example === undefined) continue;
        const at = ['paths', path, method, 'requestBody', 'content', type, 'schema'];
        const validate = ajv.getSchema(`openapi#/${at.map(escaped).join('/')}`)!;
        expect([path, validate(example), validate.errors]).toEqual([path, true, null]);
        examples += 1;
      }
    }
    expect(examples).toBeGreaterThan(40);
  });

  it('has every endpoint of the catalogue that the Admin API does not serve itself', () => {
    const ours = new Set(ofTheAdminApi().map(({ path, method }) => `${method} ${path}`));
    const shape = (path: string): string => path.replaceAll(/\{[^}]+\}/g, '{}');
    const described = operations().map(({ path, method }) => `${method} ${shape(path)}`);
    const listed = allEndpoints.map(
      ({ method, path }) => `${method.toLowerCase()} ${shape(publicPath(path))}`,
    );
    // The body decides between some endpoints of Bedrock.
    const expected = [...new Set(listed)];
    expect(expected.filter((one) => !described.includes(one))).toEqual([]);
    expect(expected.filter((one) => ours.has(one))).toEqual(['get /v1/providers']);
    const gateway = operations().filter(({ path, method }) => !ours.has(`${method} ${path}`));
    expect(gateway.length).toBe(expected.length);
  });

  it('has the headers of inference that docs/reference/inference.md lists', () => {
    const page = readFileSync(new URL('../../../docs/reference/inference.md', import.meta.url));
    const tables = String(page).split(/^\| (?=request header|response header)/m);
    const listed = (title: string): string[] => {
      const table = tables.find((one) => one.startsWith(title))!.split('\n\n', 1)[0]!;
      const rows = table.split('\n').map((row) => row.split('|')[1]?.match(/x-gateway-[\w-]+/g));
      return rows.flatMap((names) => names ?? []).toSorted();
    };
    const { parameters, headers } = document.components as unknown as Record<string, Json>;
    const isKey = (name: string): boolean => name === 'x-gateway-api-key';
    const requests = listed('request header').filter((name) => !isKey(name));
    expect(Object.keys(parameters!).toSorted()).toEqual(requests);
    const onSuccess = listed('response header').filter((name) => !name.endsWith('exception'));
    expect(Object.keys(headers!).toSorted()).toEqual(onSuccess);
  });

  it('lets no path match two templates that are equally specific', () => {
    for (const { path, parameter, word } of exclusionsOf(Object.keys(document.paths))) {
      for (const operation of Object.values(document.paths[path]!)) {
        const { schema } = operation.parameters.find(({ name }) => name === parameter)!;
        expect([path, (schema.not as { enum: string[] }).enum]).toEqual([
          path,
          expect.arrayContaining([word]),
        ]);
      }
    }
    const excluding = JSON.stringify(document.paths).match(/"not":\{"enum"/g);
    expect(excluding?.length).toBeGreaterThan(10);
  });

  it('groups every operation under one described tag, and uses every tag', () => {
    const described = (document.tags as { name: string; description: string }[]).map(
      ({ name, description }) => [name, description === ''] as const,
    );
    const untagged = operations().filter(({ operation }) => operation.tags?.length !== 1);
    expect(untagged.map(({ path }) => path)).toEqual([]);
    const inUse = new Set(operations().flatMap(({ operation }) => operation.tags ?? []));
    expect(described).toEqual(described.map(([name]) => [name, false]));
    expect([...inUse].toSorted()).toEqual(described.map(([name]) => name).toSorted());
  });

  it('gives every integer its bounds', () => {
    const unbounded = (value: unknown, path: string): string[] => {
      if (typeof value !== 'object' || value === null) return [];
      const schema = value as Record<string, unknown>;
      const isBounded = ['minimum', 'exclusiveMinimum', 'const', 'enum'].some(
        (word) => word in schema,
      );
      const own = schema.type === 'integer' && !isBounded ? [path] : [];
      return [
        ...own,
        ...Object.entries(schema).flatMap(([key, at]) => unbounded(at, `${path}/${key}`)),
      ];
    };
    expect(unbounded(document, '')).toEqual([]);
  });

  it('is cacheable: a client with the current version receives 304', async () => {
    const fetched = await ask({});
    const { etag } = fetched.headers;
    expect(fetched.headers).toMatchObject({ 'cache-control': 'no-cache', vary: 'accept-encoding' });
    for (const held of [etag, `"other", ${etag}`, String(etag).replace('W/', ''), '*']) {
      const again = await ask({ 'if-none-match': String(held) });
      expect([again.status, again.body, again.headers.etag]).toEqual([304, '', etag]);
    }
    expect((await ask({ 'if-none-match': '"other"' })).status).toBe(200);
  });

  it.each([
    ['br, gzip', 'br'],
    ['gzip, deflate', 'gzip'],
    ['br;q=0.5, gzip;q=0.9', 'gzip'],
    ['*', 'br'],
    ['br;q=0, *;q=0.1', 'gzip'],
    ['identity', undefined],
    ['br;q=0, gzip;q=0', undefined],
    ['br;q=nonsense', undefined],
  ])('is compressed for the accepted encodings %s as %s', async (accepted, coding) => {
    const asking = () => ask({ 'accept-encoding': accepted });
    await expect.poll(async () => (await asking()).headers['content-encoding']).toBe(coding);
    const { bytes, headers } = await asking();
    expect(headers['content-length']).toBe(String(bytes.length));
    const text = coding === 'br' ? brotliDecompressSync(bytes) : coding ? gunzipSync(bytes) : bytes;
    expect(JSON.parse(String(text))).toEqual(document);
    expect(headers.vary).toBe('accept-encoding');
  });

  it('is sent in full or as 304 on a connection, however often it is requested', async () => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1').setEncoding('latin1');
    let stated = '';
    socket.on('data', (text) => {
      stated += text;
    });
    const held = 'GET /openapi.json HTTP/1.1\r\nHost: a\r\nIf-None-Match: *\r\n\r\n';
    socket.write(`${held}${held}${held.replace(/If.*\*\r\n/, '').repeat(50)}`);
    await once(socket, 'close');
    expect(stated.match(/HTTP\/1\.1 \d+/g)).toEqual(
      [304, 304, 200].map((code) => `HTTP/1.1 ${code}`),
    );
    expect(stated).toMatch(/connection: close/i);
  });

  it('defines each schema once, however many routes use it', () => {
    const texts = Object.values(document.components.schemas).map((schema) =>
      JSON.stringify(schema),
    );
    expect(texts.length).toBeGreaterThan(20);
    const inPlace = operations().flatMap(({ operation }) =>
      Object.values(operation.responses).flatMap(({ content = {} }) =>
        Object.values(content).map(({ schema }) => JSON.stringify(schema)),
      ),
    );
    expect(inPlace.filter((text) => text.length >= 200)).toEqual([]);
  });

  it('is generated in small steps, so that the process serves other requests meanwhile', async () => {
    await using fresh = await startTestServer();
    let turns = 0;
    let isMade = false;
    const count = (): void => {
      turns += 1;
      if (!isMade) setImmediate(count);
    };
    count();
    await exchange('HEAD', `${fresh.url}/openapi.json`, undefined, {});
    isMade = true;
    expect(turns).toBeGreaterThan(operations().length);
  });

  it('declares each path parameter as required, and no others', () => {
    for (const { path, operation } of operations()) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      const declared = operation.parameters.filter((parameter) => parameter.in === 'path');
      expect(declared.map((parameter) => parameter.name)).toEqual(inPath);
      expect(declared.every((parameter) => parameter.required)).toBe(true);
      const keys = operation.parameters.map(({ $ref, ...one }) => $ref ?? `${one.in} ${one.name}`);
      expect(new Set(keys).size).toBe(keys.length);
    }
  });

  it('references only what it defines', () => {
    const text = JSON.stringify(document);
    for (const [, reference] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      const target = reference!
        .split('/')
        .reduce<unknown>((at, key) => (at as Json)?.[key], document);
      expect([reference, target]).toEqual([reference, expect.anything()]);
    }
    const schemes = Object.keys(document.components.securitySchemes);
    const used = operations().flatMap(({ operation }) => operation.security.flatMap(Object.keys));
    expect([...new Set(used)].filter((name) => !schemes.includes(name))).toEqual([]);
  });

  it('declares where an API key is accepted, and that the admin mount accepts none', () => {
    const withKey = operations().filter(({ operation }) =>
      operation.security.some((one) => 'gatewayApiKey' in one),
    );
    expect(withKey.length).toBeGreaterThan(0);
    // The registry of MCP servers belongs to no plane: its clients choose its address, and some
    // request it on v2.
    const known =
      /^\/(?:v1|v0\.1|model\/|ws\/|v2\/(?:embed$|rerank$|chat$|deployments|scim\/groups$|admin\/organisation\/defaults$))/;
    expect(withKey.filter(({ path }) => !known.test(path))).toEqual([]);
  });

  it('closes bodies where unknown fields are rejected', () => {
    const create = document.paths['/iam/v1/access_policies']!.post!;
    const { $ref } = create.requestBody!.content['application/json']!.schema;
    const schema = document.components.schemas[String($ref).split('/').at(-1)!];
    expect(schema).toMatchObject({
      type: 'object',
      required: ['principal', 'resource', 'role'],
      additionalProperties: false,
    });
    const token = document.paths['/oauth2/access_token']!.post!;
    expect(Object.keys(token.requestBody!.content)).toEqual(['application/x-www-form-urlencoded']);
    expect(create.responses).toHaveProperty('201');
  });

  it('contains only operations that exist', async () => {
    for (const { path, method } of ofTheAdminApi()) {
      // A public route shows that it exists only by its response.
      const known = path.replace('{provider}/{model}', 'openai/gpt-4o');
      const url = server.url + known.replaceAll(/\{\w+\}/g, 'x');
      const answer = await exchange(method.toUpperCase(), url, undefined, {});
      expect([path, method, [404, 405].includes(answer.status)]).toEqual([path, method, false]);
    }
  });
});
