/** Guarantees of access policies: who may grant what, once, and only in the token's tenant. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../server.ts';

const path = '/iam/v1/access_policies';

describe('access policies', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const policy = (changes: Record<string, unknown> = {}) => ({
    principal: 'nobody@example.com',
    resource: `prn:${server.tsgId}::::`,
    role: 'view_only_admin',
    ...changes,
  });

  it('answers 201 with an id, also for a principal that nobody knows', async () => {
    const created = await server.request('POST', path, { body: policy() });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ ...policy(), id: expect.any(String) });
    const listed = await server.request('GET', path);
    expect(listed.body.data.map((row: { id: string }) => row.id)).toContain(created.body.id);
  });
});
