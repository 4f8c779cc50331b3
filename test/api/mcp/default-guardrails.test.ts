/** Verifies guardrails that an organisation and a workspace set for every call of an MCP tool. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../support/server/eventually.ts';
import {
  type CreatedResource,
  type McpTestPlane,
  startMcpTestPlane,
} from '../../support/server/mcp-plane.ts';

let plane: McpTestPlane;
let key: string;
let server: CreatedResource;

beforeAll(async () => {
  plane = await startMcpTestPlane();
  ({ key } = await plane.addKey());
  server = await plane.addServer();
});
beforeEach(() => {
  plane.upstream.journal.length = 0;
});
afterAll(() => plane[Symbol.asyncDispose]());

const addGuardrail = (word: string, more: object = {}): Promise<CreatedResource> =>
  plane.create('/v2/guardrails', {
    name: `no ${word}`,
    target: 'mcp_tools',
    checks: [{ id: 'default.contains', parameters: { words: [word], operator: 'none' } }],
    actions: { deny: true },
    ...more,
  });
const put = async (path: string, body: object, status = 200) => {
  const answer = await plane.server.request('PUT', path, { body });
  expect(answer.status).toBe(status);
  return answer.body;
};
const codeOf = async (text: string): Promise<number | undefined> => {
  const params = { name: 'echo', arguments: { text } };
  return (await plane.call(key, server.slug, 'tools/call', params)).body.error?.code;
};
const organisation = '/admin/organisation/defaults';

describe('a guardrail of every call', () => {
  it('judges calls and results of each server of the organisation, until a workspace is exempt', async () => {
    const { id, slug } = await addGuardrail('mellon');
    await put(`/v1${organisation}`, { mcp_input_guardrails: [slug] });
    const { body } = await plane.server.request('GET', `/v1${organisation}`);
    expect(body).toMatchObject({ mcp_input_guardrails: [{ id, slug }], mcp_output_guardrails: [] });
    await eventually(async () => expect(await codeOf('mellon')).toBe(-32446));
    plane.upstream.journal.length = 0;
    expect(await codeOf('mellon')).toBe(-32446);
    expect(plane.upstream.journal).toEqual([]);
    expect(await codeOf('friend')).toBeUndefined();

    const exclusions = '/v1/workspace-exclusions/input-guardrails';
    const exempt = (excluded: boolean) =>
      put(exclusions, { workspaces: [{ workspace_id: plane.workspace.id, excluded }] });
    await exempt(true);
    await eventually(async () => expect(await codeOf('mellon')).toBeUndefined());
    await exempt(false);
    await eventually(async () => expect(await codeOf('mellon')).toBe(-32446));

    await put(`/v1${organisation}`, {
      mcp_input_guardrails: null,
      mcp_output_guardrails: [slug],
    });
    await eventually(async () => {
      plane.upstream.journal.length = 0;
      expect(await codeOf('mellon')).toBe(-32446);
      expect(plane.upstream.calls()).toEqual(['echo']);
    });
    const gone = await plane.server.request('DELETE', `/v2/guardrails/${id}`);
    expect(gone.status).toBe(409);
    await plane.server.request('DELETE', `/v1${organisation}`);
    await eventually(async () => expect(await codeOf('mellon')).toBeUndefined());
  });

  it('is set by a workspace for its own servers, and runs beside mapped ones', async () => {
    const { slug, id } = await addGuardrail('speak', { workspace_id: plane.workspace.id });
    const path = `/v2/workspaces/${plane.workspace.id}/guardrails`;
    await put(path, { mcp_input_guardrails: [slug] });
    const { body } = await plane.server.request('GET', path);
    expect(body).toMatchObject({ mcp_input_guardrails: [slug], input_guardrails: [] });
    await eventually(async () => expect(await codeOf('speak')).toBe(-32446));
    const mapped = await addGuardrail('enter');
    await put(`/admin/v2/guardrails/${mapped.id}/mcp-servers/${server.id}`, {});
    await eventually(async () => expect(await codeOf('enter')).toBe(-32446));
    expect(await codeOf('speak')).toBe(-32446);
    expect((await plane.server.request('DELETE', `/v2/guardrails/${id}`)).status).toBe(409);
    await put(`/v1/admin/workspaces/${plane.workspace.id}`, {
      defaults: { mcp_input_guardrails: null },
    });
    await eventually(async () => expect(await codeOf('speak')).toBeUndefined());
  });

  it('must be one for MCP tools', async () => {
    const { slug } = await addGuardrail('any', { target: 'llm' });
    const refused = await put(`/v1${organisation}`, { mcp_input_guardrails: [slug] }, 400);
    expect(JSON.stringify(refused)).toContain('mcp_input_guardrails');
    const path = `/v2/workspaces/${plane.workspace.id}/guardrails`;
    const also = await put(path, { mcp_output_guardrails: [slug] }, 400);
    expect(JSON.stringify(also)).toContain('a guardrail with target llm');
  });
});
