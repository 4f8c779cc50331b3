/** Tests that published coding agents run a session with tools on providers of either format, unmodified. */
import { describe, expect, it } from 'vitest';
import { missingAgent, missingAider, type NpmAgent } from '../support/agents/agent-packages.ts';
import {
  inputPrice,
  outputPrice,
  runAgentSession,
  type ScriptedService,
  scriptedServices,
} from '../support/agents/agent-sessions.ts';
import {
  type CodingAgent,
  codingAgents,
  fileText,
  pythonAgents,
} from '../support/agents/coding-agents.ts';
import { titleWithReason } from '../support/run/missing-program.ts';

const names = [...new Set(codingAgents.flatMap((agent) => agent.package ?? []))];
const missing = new Map<NpmAgent, string | null>(
  await Promise.all(names.map(async (name) => [name, await missingAgent(name)] as const)),
);
const noAider = await missingAider();

const path = { ollama: '/v1/chat/completions', anthropic: '/v1/messages' };

async function expectSession(agent: CodingAgent, service: ScriptedService): Promise<void> {
  const { journal, ...session } = await runAgentSession(agent, service);
  const cost = journal.reduce(
    (sum, { input, output }) => sum + input * inputPrice + output * outputPrice,
    0,
  );
  expect(session, session.output).toMatchObject({ exitCode: 0, file: fileText, loggedCost: cost });
  expect(new Set(session.statuses)).toEqual(new Set([200]));
  const called = journal.map((entry) => new URL(entry.path, 'http://provider').pathname);
  expect(new Set(called)).toEqual(new Set([path[service]]));
  expect(JSON.stringify(journal.map(({ headers }) => headers))).toContain('sk-scripted');
}

describe.each(codingAgents)('$name', (agent) => {
  const reason = agent.package === null ? null : missing.get(agent.package)!;

  it.skipIf(reason !== null).for(scriptedServices)(
    titleWithReason('writes and reads a file with a model of the service %s', reason),
    async (service) => {
      await expectSession(agent, service);
    },
  );
});

describe.skipIf(noAider !== null).each(pythonAgents)(titleWithReason('$name', noAider), (agent) => {
  it.for(scriptedServices)('writes a file with a model of the service %s', async (service) => {
    await expectSession(agent, service);
  });
});
