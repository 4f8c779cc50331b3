/** Writes the settings with which each client uses the gateway. The agents' settings are those of test/agents. */

/** Values that the settings contain. */
interface Target {
  /** Address of inference without `/v1`: `https://ai.example.com`. */
  readonly inference: string;
  readonly model: string;
}

interface Block {
  readonly label: string;
  readonly text: string;
}

interface Client {
  readonly id: string;
  readonly name: string;
  readonly usesModel: boolean;
  readonly blocks: (target: Target) => readonly Block[];
}

/** Stands where the reader puts the key. */
export const keyPlaceholder = 'YOUR_KEY';

const terminal = 'In the terminal';

/** `export NAME='value'` lines; quotes in values are escaped for the shell. */
const exports = (variables: Readonly<Record<string, string>>): string =>
  Object.entries(variables)
    .map(([name, value]) => `export ${name}=${quote(value)}`)
    .join('\n');

const quote = (value: string): string => `'${value.replaceAll("'", `'\\''`)}'`;

function openCode({ inference, model }: Target): string {
  const provider = {
    npm: '@ai-sdk/openai-compatible',
    name: 'gateway',
    options: { baseURL: `${inference}/v1`, apiKey: '{env:GATEWAY_KEY}' },
    models: { [model]: { name: model } },
  };
  return JSON.stringify({ model: `gateway/${model}`, provider: { gateway: provider } }, null, 2);
}

const codex = ({ inference, model }: Target): string =>
  [
    `model = ${JSON.stringify(model)}`,
    'model_provider = "gateway"',
    '',
    '[model_providers.gateway]',
    'name = "gateway"',
    `base_url = ${JSON.stringify(`${inference}/v1`)}`,
    'env_key = "GATEWAY_KEY"',
    'wire_api = "responses"',
  ].join('\n');

const openAiPython = ({ inference, model }: Target): string =>
  `import os
from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(`${inference}/v1`)}, api_key=os.environ["GATEWAY_KEY"])
answer = client.chat.completions.create(
    model=${JSON.stringify(model)},
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`;

const openAiNode = ({ inference, model }: Target): string =>
  `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: ${JSON.stringify(`${inference}/v1`)}, apiKey: process.env.GATEWAY_KEY });
const answer = await client.chat.completions.create({
  model: ${JSON.stringify(model)},
  messages: [{ role: 'user', content: 'Hello' }],
});
console.log(answer.choices[0].message.content);`;

const anthropicPython = ({ inference, model }: Target): string =>
  `import os
from anthropic import Anthropic

client = Anthropic(base_url=${JSON.stringify(inference)}, api_key=os.environ["GATEWAY_KEY"])
answer = client.messages.create(
    model=${JSON.stringify(model)},
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.content[0].text)`;

const anthropicNode = ({ inference, model }: Target): string =>
  `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: ${JSON.stringify(inference)}, apiKey: process.env.GATEWAY_KEY });
const answer = await client.messages.create({
  model: ${JSON.stringify(model)},
  max_tokens: 1024,
  messages: [{ role: 'user', content: 'Hello' }],
});
console.log(answer.content[0].text);`;

function curl({ inference, model }: Target): string {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] });
  return [
    `curl ${quote(`${inference}/v1/chat/completions`)}`,
    '  -H "Authorization: Bearer $GATEWAY_KEY"',
    "  -H 'Content-Type: application/json'",
    `  -d ${quote(body)}`,
  ].join(' \\\n');
}

const keyBlock: Block = { label: terminal, text: exports({ GATEWAY_KEY: keyPlaceholder }) };

export const clients: readonly Client[] = [
  {
    id: 'claude-code',
    name: 'Claude Code',
    usesModel: false,
    blocks: ({ inference }) => [
      {
        label: terminal,
        text: `${exports({ ANTHROPIC_BASE_URL: inference, ANTHROPIC_AUTH_TOKEN: keyPlaceholder })}\nclaude`,
      },
    ],
  },
  {
    id: 'codex',
    name: 'Codex',
    usesModel: true,
    blocks: (target) => [
      { label: '~/.codex/config.toml', text: codex(target) },
      { label: terminal, text: `${keyBlock.text}\ncodex` },
    ],
  },
  {
    id: 'gemini-cli',
    name: 'Gemini CLI',
    usesModel: false,
    blocks: ({ inference }) => [
      {
        label: '~/.gemini/settings.json',
        text: JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } } }, null, 2),
      },
      {
        label: terminal,
        text: `${exports({ GOOGLE_GEMINI_BASE_URL: inference, GEMINI_API_KEY: keyPlaceholder })}\ngemini`,
      },
    ],
  },
  {
    id: 'opencode',
    name: 'opencode',
    usesModel: true,
    blocks: (target) => [
      { label: '~/.config/opencode/opencode.json', text: openCode(target) },
      { label: terminal, text: `${keyBlock.text}\nopencode` },
    ],
  },
  {
    id: 'aider',
    name: 'aider',
    usesModel: true,
    blocks: ({ inference, model }) => [
      {
        label: terminal,
        text: `${exports({ OPENAI_API_BASE: `${inference}/v1`, OPENAI_API_KEY: keyPlaceholder })}\naider --model ${quote(`openai/${model}`)}`,
      },
    ],
  },
  {
    id: 'openai-sdk',
    name: 'OpenAI SDK',
    usesModel: true,
    blocks: (target) => [
      keyBlock,
      { label: 'Python', text: openAiPython(target) },
      { label: 'JavaScript', text: openAiNode(target) },
    ],
  },
  {
    id: 'anthropic-sdk',
    name: 'Anthropic SDK',
    usesModel: true,
    blocks: (target) => [
      keyBlock,
      { label: 'Python', text: anthropicPython(target) },
      { label: 'JavaScript', text: anthropicNode(target) },
    ],
  },
  {
    id: 'curl',
    name: 'curl',
    usesModel: true,
    blocks: (target) => [{ label: terminal, text: `${keyBlock.text}\n${curl(target)}` }],
  },
];

/** Settings of MCP clients for the server at `address`. */
export function mcpBlocks(slug: string, address: string): readonly Block[] {
  const url = `${address}/${encodeURIComponent(slug)}/mcp`;
  const headers = { Authorization: `Bearer ${keyPlaceholder}` };
  const settings = { mcpServers: { [slug]: { type: 'http', url, headers } } };
  return [
    { label: 'Settings of the client (Streamable HTTP)', text: JSON.stringify(settings, null, 2) },
    {
      label: 'Clients that only start local programs',
      text: `npx -y mcp-remote@0.15.1 ${quote(url)} --header ${quote(`Authorization: Bearer ${keyPlaceholder}`)}`,
    },
  ];
}
