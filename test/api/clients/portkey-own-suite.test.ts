/** Runs the tests that the package of the Portkey client contains, unchanged, against the gateway. */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../../src/package-root.ts';
import { startInference } from '../../support/server/inference.ts';
import { chatAnswer, sendJson } from '../../support/upstream/upstream.ts';

const load = createRequire(import.meta.url);
const published = dirname(load.resolve('portkey-ai/package.json'));
/** Below the root of the project, where the copied files find their packages. */
const cache = join(packageRoot(), '.cache');
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, 'portkey-suite-'));
const sound = join(folder, 'speech.mp3');

const inference = await startInference();
const { server, upstream } = inference;
const created = async (path: string, body: object) => {
  const answer = await server.request('POST', path, { body });
  if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
};
const { id: workspace_id } = await created('/v2/workspaces', { name: 'suite' });
const { key } = await inference.addKey({ workspace_id });

/**
 * A provider of the workspace, as an environment variable of the suite names it. OpenAI keeps the assistants, because
 * the suite creates one that runs code at the provider.
 */
async function addProvider(ai_provider_id: string, variable: string): Promise<void> {
  const configurations = { custom_host: upstream.url };
  const capabilities = { assistants: 'proxy' };
  const account = { name: ai_provider_id, ai_provider_id, key: 'sk', configurations, capabilities };
  const { id: integration_id } = await created('/v1/integrations', account);
  const provider = { name: ai_provider_id, integration_id, workspace_id };
  process.env[variable] = (await created('/v1/providers', provider)).slug;
}
const environment = { ...process.env };
await addProvider('openai', 'OPENAI_VIRTUAL_KEY');
await addProvider('anthropic', 'ANTHROPIC_VIRTUAL_KEY');
await addProvider('anyscale', 'ANYSCALE_VIRTUAL_KEY');
process.env.PORTKEY_API_KEY = key;
process.env.PORTKEY_BASE_URL = `${server.inferenceUrl}/v1`;

/** Responses of a provider by the end of the path. */
const answers: Readonly<Record<string, object>> = {
  '/chat/completions': chatAnswer,
  '/completions': {
    ...chatAnswer,
    object: 'text_completion',
    choices: [{ text: 'hi', index: 0, finish_reason: 'stop' }],
  },
  '/messages': {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'hi' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  },
  '/images/generations': { created: 1, data: [{ url: 'https://x.test/a.png' }] },
  '/images/edits': { created: 1, data: [{ url: 'https://x.test/a.png' }] },
  '/images/variations': { created: 1, data: [{ url: 'https://x.test/a.png' }] },
  '/audio/transcriptions': { text: 'hi' },
  '/audio/translations': { text: 'hi' },
  '/assistants': { id: 'asst_1', object: 'assistant', tools: [{ type: 'code_interpreter' }] },
  '/moderations': { id: 'modr_1', model: 'm', results: [{ flagged: true }] },
};
upstream.script = ({ url }, response) => {
  const path = Object.keys(answers).find((end) => url.endsWith(end));
  if (path !== undefined) return sendJson(response, answers[path]);
  response.writeHead(200, { 'content-type': 'audio/mpeg' }).end('sound');
};

afterAll(async () => {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
  rmSync(folder, { recursive: true });
  await inference[Symbol.asyncDispose]();
});

/** Copies the compiled suite with its pictures. Its file of sound would be written to the current folder. */
function copySuite(): string[] {
  cpSync(join(published, 'dist', 'tests'), folder, { recursive: true });
  cpSync(join(published, 'tests', 'images'), join(folder, 'images'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type":"commonjs"}');
  writeFileSync(sound, 'sound');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => {
      const file = join(folder, name);
      const text = readFileSync(file, 'utf8').replaceAll('"./speech.mp3"', JSON.stringify(sound));
      writeFileSync(file, text);
      return file;
    })
    .sort();
}

let tests = 0;
/** The functions of Jest that the suite expects in the global scope. */
Object.assign(globalThis, {
  describe,
  expect,
  test: (...given: Parameters<typeof it>) => {
    tests += 1;
    it(...given);
  },
});
const files = copySuite();
for (const file of files) load(file);

it('has the tests that the package is known to contain', () => {
  expect([files.length, tests]).toEqual([10, 45]);
});
