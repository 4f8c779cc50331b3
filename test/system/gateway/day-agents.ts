/** Runs the turns of an agent session with the official SDKs of OpenAI and Anthropic. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { toolName } from './day-provider.ts';

interface AgentOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly turns: number;
}

/** Runs a session; `key` is the key of the gateway. */
type DayAgent = (key: string, options: AgentOptions) => Promise<void>;

const parameters = {
  type: 'object' as const,
  properties: { path: { type: 'string' } },
  required: ['path'],
};
const outputTokensMax = 20_000;

/** Names the request in the log. */
const traced = (headers: AgentOptions['headers'], turn: number) => ({
  headers: { ...headers, 'x-gateway-trace-id': `turn-${turn}` },
});

const question = (turn: number): string => `Please go on: turn-${turn}`;

/** An agent that keeps thinking and caches its prompt, as coding agents do. */
async function runMessages(key: string, { url, headers, turns }: AgentOptions): Promise<void> {
  const client = new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 });
  const messages: Anthropic.MessageParam[] = [];
  let next: Anthropic.ContentBlockParam[] = [];
  for (let turn = 1; turn <= turns; turn += 1) {
    messages.push({ role: 'user', content: [...next, { type: 'text', text: question(turn) }] });
    const stream = client.messages.stream(
      {
        model: 'agent',
        max_tokens: outputTokensMax,
        thinking: { type: 'enabled', budget_tokens: 4000 },
        system: [{ type: 'text', text: 'Be brief', cache_control: { type: 'ephemeral' } }],
        tools: [{ name: toolName, input_schema: parameters }],
        messages,
      },
      traced(headers, turn),
    );
    const { content } = await stream.finalMessage();
    messages.push({ role: 'assistant', content });
    next = content.flatMap((block) => {
      if (block.type !== 'tool_use') return [];
      return [{ type: 'tool_result' as const, tool_use_id: block.id, content: `turn-${turn}` }];
    });
  }
}

async function runChats(key: string, { url, headers, turns }: AgentOptions): Promise<void> {
  const client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'system', content: 'Be brief' }];
  for (let turn = 1; turn <= turns; turn += 1) {
    messages.push({ role: 'user', content: question(turn) });
    const stream = client.chat.completions.stream(
      {
        model: 'agent',
        max_completion_tokens: outputTokensMax,
        reasoning_effort: 'low',
        stream_options: { include_usage: true },
        tools: [{ type: 'function', function: { name: toolName, parameters } }],
        messages,
      },
      traced(headers, turn),
    );
    const { choices } = await stream.finalChatCompletion();
    const { content, tool_calls: calls = [] } = choices[0]!.message;
    const sent = calls.flatMap((call) => {
      if (call.type !== 'function') return [];
      const { name, arguments: text } = call.function;
      return [{ id: call.id, type: 'function' as const, function: { name, arguments: text } }];
    });
    messages.push({
      role: 'assistant',
      content,
      ...(sent.length === 0 ? {} : { tool_calls: sent }),
    });
    for (const { id } of sent) {
      messages.push({ role: 'tool', tool_call_id: id, content: `turn-${turn}` });
    }
  }
}

export const dayAgents: Readonly<Record<'messages' | 'chats', DayAgent>> = {
  messages: runMessages,
  chats: runChats,
};
