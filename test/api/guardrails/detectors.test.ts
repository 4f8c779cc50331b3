/** Verifies that personal data and secrets reach neither the provider nor the caller where checks replace or deny them. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Inference, startInference } from '../../support/server/inference.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

let inference: Inference;
let key: string;

beforeAll(async () => {
  inference = await startInference();
  ({ key } = await inference.addKey());
});

beforeEach(() => {
  inference.upstream.reached.length = 0;
  inference.upstream.script = (_, response) => sendJson(response, chatAnswer);
});

afterAll(() => inference[Symbol.asyncDispose]());

const token = `ghp_${'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'}`;
const redacting = {
  'portkey.pii': { categories: ['EMAIL_ADDRESS', 'CREDIT_CARD'], redact: true },
  'gatewright.secrets': { redact: true },
};

describe('detectors', () => {
  it('replaces values in messages and in arguments of calls, before the provider receives them', async () => {
    const call = { name: 'mail', arguments: '{"to":"jane@ex\\u0061mple.com"}' };
    const params = {
      messages: [
        { role: 'assistant', tool_calls: [{ id: 'c1', type: 'function', function: call }] },
        { role: 'tool', tool_call_id: 'c1', content: `sent with ${token}` },
        { role: 'user', content: 'card 4111 1111 1111 1111 of jane@example.com' },
      ],
    };
    const config = { input_guardrails: [{ ...redacting, scan_scope: 'all_messages' }] };
    expect((await inference.chat(key, { config, params })).status).toBe(200);
    const [sent] = inference.upstream.reached;
    expect(JSON.parse(String(sent!.body)).messages).toMatchObject([
      { tool_calls: [{ function: { arguments: '{"to":"{{EMAIL_ADDRESS_1}}"}' } }] },
      { content: 'sent with {{GITHUB_PAT_1}}' },
      { content: 'card {{CREDIT_CARD_1}} of {{EMAIL_ADDRESS_1}}' },
    ]);
  });

  it('replaces a value that the chunks of a streamed answer divide', async () => {
    inference.upstream.script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const content of [
        'write to ja',
        'ne@exam',
        'ple.com ',
        token.slice(0, 9),
        token.slice(9),
      ]) {
        const chunk = { ...chatAnswer, choices: [{ index: 0, delta: { content } }] };
        response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      }
      response.end('data: [DONE]\n\n');
    };
    const config = { output_guardrails: [redacting] };
    const params = { stream: true, messages: [{ role: 'user', content: 'whom?' }] };
    const answer = await inference.chat(key, { config, params });
    const text = JSON.stringify(answer.body);
    expect(text).toContain('{{EMAIL_ADDRESS_1}}');
    expect(text).toContain('{{GITHUB_PAT_1}}');
    expect(text).not.toContain('ple.com');
    expect(text).not.toContain(token.slice(9));
  });

  it('denies a request with a secret, and names the rule without the secret', async () => {
    const config = { input_guardrails: [{ 'gatewright.secrets': {}, deny: true }] };
    const params = { messages: [{ role: 'user', content: `use ${token}` }] };
    const answer = await inference.chat(key, { config, params });
    expect(answer.status).toBe(446);
    expect(JSON.stringify(answer.body)).toContain('github-pat');
    expect(JSON.stringify(answer.body)).not.toContain(token);
    expect(inference.upstream.reached).toHaveLength(0);
  });

  it('refuses a language that is not listed', async () => {
    const item = { 'portkey.language': { language: ['eng_Latn'] }, deny: true };
    const config = { input_guardrails: [item] };
    const ask = async (content: string): Promise<number> => {
      const params = { messages: [{ role: 'user', content }] };
      return (await inference.chat(key, { config, params })).status;
    };
    expect(await ask('Wie viele Planeten umkreisen eigentlich unsere Sonne?')).toBe(446);
    expect(await ask('How many planets actually revolve around our sun?')).toBe(200);
  });

  it('refuses a config that names a category without a detector', async () => {
    const config = { input_guardrails: [{ 'portkey.pii': { categories: ['NAME'] } }] };
    const answer = await inference.chat(key, { config });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).toContain('needs a model');
  });
});
