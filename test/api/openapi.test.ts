/** Guarantees of the interface description: it is served, sound, and of the routes that really answer. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exchange, startTestServer, type TestServer } from '../server.ts';

type Json = Record<string, unknown>;
interface Operation extends Json {
  operationId: string;
  summary: string;
  security: Json[];
  parameters: { name: string; in: string; required: boolean; schema: Json }[];
  requestBody?: { content: Record<string, { schema: Json }> };
  responses: Record<string, { description: string; content: Record<string, { schema: Json }> }>;
}

describe('the interface description', () => {
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

  const operations = () =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );

  it('is OpenAPI 3.1 of interface version 2.0.0', () => {
    expect(document).toMatchObject({ openapi: '3.1.0', info: { version: '2.0.0' } });
    expect(operations().length).toBeGreaterThan(20);
  });

  it('gives every operation a name of its own, a summary, a success and error answers', () => {
    const names = operations().map(({ operation }) => operation.operationId);
    expect(new Set(names).size).toBe(names.length);
    for (const { operation } of operations()) {
      expect(operation.summary).not.toBe('');
      const statuses = Object.keys(operation.responses);
      expect(statuses.some((status) => status === '200' || status === '201')).toBe(true);
      expect(statuses).toContain('500');
      for (const response of Object.values(operation.responses)) {
        expect(response.description).toEqual(expect.any(String));
      }
    }
  });

  it('declares each path parameter, required, and no other', () => {
    for (const { path, operation } of operations()) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      const declared = operation.parameters.filter((parameter) => parameter.in === 'path');
      expect(declared.map((parameter) => parameter.name)).toEqual(inPath);
      expect(declared.every((parameter) => parameter.required)).toBe(true);
      const keys = operation.parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
      expect(new Set(keys).size).toBe(keys.length);
    }
  });

  it('refers only to what it defines', () => {
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

  it('says where an API key is taken, and that no admin mount takes one', () => {
    const withKey = operations().filter(({ operation }) =>
      operation.security.some((one) => 'gatewayApiKey' in one),
    );
    expect(withKey.length).toBeGreaterThan(0);
    expect(withKey.every(({ path }) => path.startsWith('/v1/'))).toBe(true);
  });

  it('closes bodies where unknown fields are refused', () => {
    const create = document.paths['/iam/v1/access_policies']!.post!;
    expect(create.requestBody!.content['application/json']!.schema).toMatchObject({
      type: 'object',
      required: ['principal', 'resource', 'role'],
      additionalProperties: false,
    });
    const token = document.paths['/oauth2/access_token']!.post!;
    expect(Object.keys(token.requestBody!.content)).toEqual(['application/x-www-form-urlencoded']);
    expect(create.responses).toHaveProperty('201');
  });

  it('describes only operations that are there', async () => {
    for (const { path, method } of operations()) {
      const url = server.url + path.replaceAll(/\{\w+\}/g, 'x');
      const answer = await exchange(method.toUpperCase(), url, undefined, {});
      expect([path, method, [404, 405].includes(answer.status)]).toEqual([path, method, false]);
    }
  });
});
