/** Verifies the parts of request fuzzing without I/O: edits of requests, judgement of responses, and curl lines. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerSchemas } from '../fuzz/requests/answer-schemas.ts';
import { applyEdits, editsOf, offline, type RequestDraft } from '../fuzz/requests/edits.ts';
import { curlOf } from '../fuzz/requests/send-draft.ts';
import { faultsOfAnswer, type JudgedRequest } from '../fuzz/requests/verdict.ts';
import { DrawnValues } from '../support/interface/generated-values.ts';

const draft: RequestDraft = {
  method: 'POST',
  path: '/v1/things/1',
  query: '',
  headers: { 'content-type': 'application/json' },
  body: { name: 'a', list: [1, 2] },
};

describe('applyEdits', () => {
  it('writes raw JSON in place of a member or a node', () => {
    const raw = applyEdits(draft, [{ kind: 'raw', name: 'name', json: '1e400' }]);
    expect(raw.body?.toString()).toBe('{"name":1e400,"list":[1,2]}');
    const node = applyEdits(draft, [{ kind: 'node', at: 3, json: '-0' }]);
    expect(node.body?.toString()).toBe('{"name":"a","list":[-0,2]}');
    const whole = applyEdits(draft, [{ kind: 'node', at: 5, json: '[' }]);
    expect(whole.body?.toString()).toBe('[');
  });

  it('changes method, path, query and headers', () => {
    const edited = applyEdits(draft, [
      { kind: 'method', method: 'PUT' },
      { kind: 'segment', at: 1, text: '%00' },
      { kind: 'query', text: 'a=1' },
      { kind: 'query', text: 'b=2' },
      { kind: 'headers', headers: { accept: '*' } },
    ]);
    expect(edited).toMatchObject({ method: 'PUT', path: '/v1/%00/1', query: 'a=1&b=2' });
    expect(edited.headers).toEqual({ 'content-type': 'application/json', accept: '*' });
  });

  it('draws the same edits for the same seed', () => {
    const schema = { type: 'object', properties: { name: { type: 'string', maxLength: 3 } } };
    const route = { schema, queries: { q: { type: 'string' } }, headers: ['if-match'] };
    const draw = () => fc.sample(editsOf(route, new DrawnValues({})), { seed: 7, numRuns: 50 });
    expect(draw()).toEqual(draw());
    for (const edits of draw()) expect(() => applyEdits(draft, edits)).not.toThrow();
  });

  it('keeps generated addresses from leading to hosts of the internet', () => {
    expect(offline({ url: 'https://a.com/x', list: ['http://b.org'] })).toEqual({
      url: 'https://a.com.invalid/x',
      list: ['http://b.org.invalid'],
    });
    expect(offline('http://127.0.0.1:1/')).toBe('http://127.0.0.1:1/');
  });
});

const schema = { type: 'object', required: ['id'], properties: { id: { type: 'string' } } };
const content = { 'application/json': { schema } };
const schemas = new AnswerSchemas({
  paths: { '/v1/things/{id}': { get: { responses: { 200: { content } } } } },
});
const one: JudgedRequest = {
  plane: 'admin',
  method: 'GET',
  path: '/v1/things/1',
  statuses: ['200', '502'],
};
const answer = (status: number, body: unknown) => ({
  status,
  headers: { 'content-type': 'application/json' },
  text: JSON.stringify(body),
});
const error = { error: { message: 'a', type: 'b', param: '', code: 'c' } };

describe('a verdict', () => {
  it.each([
    [200, { id: 'a' }, []],
    [200, { id: 1 }, [expect.stringContaining('violates its schema')]],
    [404, error, []],
    [404, {}, [expect.stringContaining('no common error')]],
    [500, error, ['500 is unexpected', expect.anything()]],
    [503, error, ['503 is unexpected', expect.anything()]],
    [200, { id: 'a secret-value' }, [expect.stringContaining('leaks')]],
  ])('judges %d with %j as %j', (status, body, faults) => {
    expect(faultsOfAnswer(one, answer(status, body), schemas, ['secret-value'])).toEqual(faults);
  });

  it('demands a result or an error of a JSON-RPC message', () => {
    const mcp = { ...one, plane: 'mcp' as const };
    const judge = (body: object) => faultsOfAnswer(mcp, answer(200, body), schemas, []);
    expect(judge({ jsonrpc: '2.0', id: 1, result: {} })).toEqual([]);
    expect(judge({ jsonrpc: '2.0', id: 1 })).toHaveLength(1);
    expect(judge({ jsonrpc: '2.0', id: 1, error: { code: 1.5, message: 'a' } })).toHaveLength(1);
  });
});

describe('a curl line', () => {
  it('quotes texts, and encodes bytes that are no text', () => {
    const request = {
      method: 'POST',
      url: 'http://127.0.0.1:1',
      target: '/a',
      headers: { a: 'b' },
    };
    expect(curlOf({ ...request, body: Buffer.from("it's") })).toBe(
      String.raw`curl -i --path-as-is -g -X POST 'http://127.0.0.1:1/a' -H 'a: b' --data-binary 'it'\''s'`,
    );
    expect(curlOf({ ...request, body: Buffer.of(255) })).toContain('echo /w== | base64 -d |');
  });
});
