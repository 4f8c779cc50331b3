/** Guarantees for a change whose answer was lost: the outcome is told as unknown. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DatabaseLink, startDatabaseLink } from '../database-link.ts';
import { startTestServer, type TestServer } from '../server.ts';

let link: DatabaseLink;
let server: TestServer;

beforeAll(async () => {
  link = await startDatabaseLink();
  server = await startTestServer({ between: link.lead });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await link[Symbol.asyncDispose]();
});

const names = async (): Promise<string[]> => {
  const { body } = await server.request('GET', '/v2/workspaces');
  return body.data.map((workspace: { name: string }) => workspace.name);
};

describe('a commit whose answer is lost', () => {
  it('is told as an unknown outcome, and nobody is asked to try again', async () => {
    link.loseNextCommit();
    const lost = await server.request('POST', '/v2/workspaces', { body: { name: 'Lost' } });
    expect([lost.status, lost.body.error.code, lost.headers['retry-after']]).toEqual([
      503,
      'AB04',
      undefined,
    ]);
    expect(lost.body.error.message).toMatch(/outcome is unknown/);
    expect(await names()).toContain('Lost');
  });

  it('is not what a connection lost before the commit is: that may be tried again', async () => {
    link.cut();
    const refused = await server.request('POST', '/v2/workspaces', { body: { name: 'Refused' } });
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    link.mend();
    expect(await names()).not.toContain('Refused');
  });
});
