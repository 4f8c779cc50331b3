/** Runs sessions of coding agents through a gateway at scripted providers. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnWithLeash } from '../../../src/embedded/leash.ts';
import { type Inference, startInference } from '../server/inference.ts';
import { logIsWritten } from '../server/request-log.ts';
import { type AgentTask, type CodingAgent, fileName } from './coding-agents.ts';
import { type JournalEntry, startScriptedProvider } from './scripted-provider.ts';

/** A provider that an agent is used with, by the service that its integration names. */
export const scriptedServices = ['ollama', 'anthropic'] as const;
export type ScriptedService = (typeof scriptedServices)[number];

export interface AgentSession {
  readonly exitCode: number | null;
  /** Everything that the agent wrote to its terminal. */
  readonly output: string;
  /** The file that the model wrote; null when it is missing. */
  readonly file: string | null;
  readonly journal: readonly JournalEntry[];
  /** Sum of the log rows, in micro-dollars. */
  readonly loggedCost: number;
  /** Statuses of the log rows. */
  readonly statuses: readonly number[];
}

/** Whole numbers of micro-dollars for each token. */
export const [inputPrice, outputPrice] = [100, 200];
const centsOfMicroDollar = 1e-4;

const sessionMsMax = 90_000;

/** Runs one session in folders of its own. */
export async function runAgentSession(
  agent: CodingAgent,
  service: ScriptedService,
): Promise<AgentSession> {
  await using stack = new AsyncDisposableStack();
  const root = mkdtempSync(join(tmpdir(), 'agent-'));
  stack.defer(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
  const folders = { work: join(root, 'work'), home: join(root, 'home') };
  for (const folder of Object.values(folders)) mkdirSync(folder);
  const provider = stack.use(
    await startScriptedProvider(agent.script({ ...folders, url: '', key: '' })),
  );
  const inference = stack.use(await startInference({}, [provider.upstream.host]));
  const key = await keyTo(inference, service, provider.upstream.url);
  const task = { ...folders, url: inference.server.inferenceUrl, key };
  const { exitCode, output } = await runAgent(agent, task);
  await logIsWritten(inference.server);
  const rows = await inference.server.database.db
    .selectFrom('request_logs')
    .select(['status', 'cost_units'])
    .execute();
  const path = join(folders.work, fileName);
  return {
    exitCode,
    output,
    file: existsSync(path) ? readFileSync(path, 'utf8') : null,
    journal: provider.journal,
    loggedCost: rows.reduce((sum, { cost_units: cost }) => sum + Number(cost ?? 0), 0),
    statuses: rows.map(({ status }) => status),
  };
}

/** A key whose config sends every model to the provider, which has one priced model. */
async function keyTo(
  { server, addKey }: Inference,
  service: ScriptedService,
  url: string,
): Promise<string> {
  const post = async (path: string, body: object) => {
    const made = await server.request('POST', path, { body });
    if (made.status !== 200) throw new Error(`${path}: ${JSON.stringify(made.body)}`);
    return made.body;
  };
  const { id } = await post('/v2/workspaces', { name: 'Agents' });
  const pay_as_you_go = {
    request_token: { price: inputPrice * centsOfMicroDollar },
    response_token: { price: outputPrice * centsOfMicroDollar },
  };
  const model = { slug: 'scripted', enabled: true, pricing_config: { pay_as_you_go } };
  const integration = await post('/v1/integrations', {
    name: 'Scripted',
    ai_provider_id: service,
    key: 'sk-scripted',
    configurations: { custom_host: url },
    allow_all_models: false,
    models: [model],
  });
  const owned = { integration_id: integration.id, workspace_id: id };
  const { slug } = await post('/v1/providers', { name: 'Scripted', ...owned });
  const config = { provider: `@${slug}`, override_params: { model: 'scripted' } };
  const saved = await post('/v2/configs', { name: 'Agents', workspace_id: id, config });
  const { key } = await addKey({ workspace_id: id, defaults: { config_id: saved.slug } });
  return key;
}

/** Nothing listens there, so that calls to other hosts than this one fail. */
const nowhere = 'http://127.0.0.1:1';

async function runAgent(
  agent: CodingAgent,
  task: AgentTask,
): Promise<Pick<AgentSession, 'exitCode' | 'output'>> {
  const { program, words, env } = agent.prepare(task);
  const { child, cut } = spawnWithLeash([program, ...words], {
    cwd: task.work,
    env: {
      PATH: process.env.PATH,
      HOME: task.home,
      LANG: 'C.UTF-8',
      NO_COLOR: '1',
      HTTP_PROXY: nowhere,
      HTTPS_PROXY: nowhere,
      NO_PROXY: '127.0.0.1,localhost',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const timer = setTimeout(cut, sessionMsMax);
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.once('close', resolve).once('error', reject);
  try {
    return { exitCode: await promise, output };
  } finally {
    clearTimeout(timer);
  }
}
