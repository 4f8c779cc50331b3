/** Describes coding agents: how each is started against a gateway, and which of its tools a scripted model calls. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { agentProgram, aiderProgram, type NpmAgent } from './agent-packages.ts';
import type { Script } from './scripted-provider.ts';

/** Where an agent works, and whom it calls. */
export interface AgentTask {
  /** Address of the gateway without `/v1`. */
  readonly url: string;
  readonly key: string;
  /** Working folder, in which the file is written. */
  readonly work: string;
  /** Home folder with the configuration of the agent. */
  readonly home: string;
}

interface AgentCommand {
  readonly program: string;
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface CodingAgent {
  readonly name: string;
  /** Null for an agent that is not installed from npm. */
  readonly package: NpmAgent | null;
  /** The model writes the file, reads it and ends. */
  script(task: AgentTask): Script;
  /** Writes the configuration and returns the command. */
  prepare(task: AgentTask): AgentCommand;
}

export const fileName = 'greeting.txt';
export const fileText = 'hello from the model\n';
const prompt = `Write ${fileName} with a greeting, read it and stop.`;
const done = { text: 'Done.' };

function addFile(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** Claude Code calls the gateway as Anthropic, or as the cloud whose mode `envOf` selects. */
const claudeCode = (
  name: string,
  envOf: (task: AgentTask) => AgentCommand['env'],
): CodingAgent => ({
  name,
  package: 'claude',
  script: ({ work }) => {
    const file_path = join(work, fileName);
    return [
      { call: { name: 'Write', input: { file_path, content: fileText } } },
      { call: { name: 'Read', input: { file_path } } },
      done,
    ];
  },
  prepare: (task) => ({
    program: agentProgram('claude'),
    words: ['-p', prompt, '--model', 'claude-sonnet-4-5', '--permission-mode', 'acceptEdits'],
    env: {
      ...envOf(task),
      ANTHROPIC_AUTH_TOKEN: task.key,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
    },
  }),
});

const patch = `*** Begin Patch\n*** Add File: ${fileName}\n+${fileText}*** End Patch\n`;

function codex(name: string, model: string, write: Script[number]): CodingAgent {
  return {
    name,
    package: 'codex',
    // It declares a search of the web.
    script: () => [
      write,
      { call: { name: 'exec_command', input: { cmd: `cat ${fileName}` } } },
      done,
    ],
    prepare: ({ url, key, home }) => {
      const config = [
        `model = "${model}"`,
        'model_provider = "gateway"',
        'check_for_update_on_startup = false',
        '[model_providers.gateway]',
        'name = "gateway"',
        `base_url = "${url}/v1"`,
        'env_key = "GATEWAY_KEY"',
        'wire_api = "responses"',
        '[analytics]',
        'enabled = false',
      ];
      addFile(join(home, '.codex/config.toml'), `${config.join('\n')}\n`);
      const flags = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
      return {
        program: agentProgram('codex'),
        words: ['exec', ...flags, prompt],
        env: { GATEWAY_KEY: key },
      };
    },
  };
}

function opencode(name: string, npm: string): CodingAgent {
  return {
    name,
    package: 'opencode',
    script: ({ work }) => {
      const filePath = join(work, fileName);
      return [
        { call: { name: 'write', input: { filePath, content: fileText } } },
        { call: { name: 'read', input: { filePath } } },
        done,
      ];
    },
    prepare: ({ url, key, home }) => {
      const options = { baseURL: `${url}/v1`, apiKey: key };
      const provider = {
        npm,
        name: 'gateway',
        options,
        models: { scripted: { name: 'scripted' } },
      };
      const config = {
        autoupdate: false,
        share: 'disabled',
        model: 'gateway/scripted',
        small_model: 'gateway/scripted',
        permission: 'allow',
        provider: { gateway: provider },
      };
      addFile(join(home, '.config/opencode/opencode.json'), JSON.stringify(config));
      return {
        program: agentProgram('opencode'),
        words: ['run', prompt],
        env: {
          OPENCODE_DISABLE_AUTOUPDATE: '1',
          OPENCODE_DISABLE_MODELS_FETCH: '1',
          OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
          OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
        },
      };
    },
  };
}

const geminiCli: CodingAgent = {
  name: 'Gemini CLI',
  package: 'gemini',
  script: () => [
    { call: { name: 'write_file', input: { file_path: fileName, content: fileText } } },
    { call: { name: 'read_file', input: { file_path: fileName } } },
    done,
  ],
  prepare: ({ url, key, home }) => {
    const settings = {
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      security: { auth: { selectedType: 'gemini-api-key' } },
    };
    addFile(join(home, '.gemini/settings.json'), JSON.stringify(settings));
    return {
      program: agentProgram('gemini'),
      words: ['--prompt', prompt, '--yolo', '--skip-trust', '--model', 'gemini-2.5-pro'],
      env: { GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: url },
    };
  },
};

/** Agents from npm. */
export const codingAgents: readonly CodingAgent[] = [
  claudeCode('Claude Code', ({ url }) => ({ ANTHROPIC_BASE_URL: url })),
  claudeCode('Claude Code in the mode for Bedrock', ({ url }) => ({
    CLAUDE_CODE_USE_BEDROCK: '1',
    CLAUDE_CODE_SKIP_BEDROCK_AUTH: '1',
    ANTHROPIC_BEDROCK_BASE_URL: url,
    AWS_REGION: 'us-east-1',
  })),
  claudeCode('Claude Code in the mode for Vertex AI', ({ url }) => ({
    CLAUDE_CODE_USE_VERTEX: '1',
    CLAUDE_CODE_SKIP_VERTEX_AUTH: '1',
    ANTHROPIC_VERTEX_BASE_URL: `${url}/v1`,
    ANTHROPIC_VERTEX_PROJECT_ID: 'their-project',
    CLOUD_ML_REGION: 'us-east5',
  })),
  codex('Codex with a custom tool', 'gpt-5.5', { call: { name: 'apply_patch', input: patch } }),
  codex('Codex with an unknown model', 'any-model', {
    call: { name: 'exec_command', input: { cmd: `printf '${fileText.trim()}\\n' > ${fileName}` } },
  }),
  geminiCli,
  opencode("opencode with OpenAI's format", '@ai-sdk/openai-compatible'),
  opencode("opencode with Anthropic's format", '@ai-sdk/anthropic'),
];

/** Without anything that needs a repository, a terminal or another host. */
function aiderWords(model: string): string[] {
  const flags =
    '--edit-format whole --yes-always --no-git --no-stream --no-analytics --no-check-update ' +
    '--no-show-model-warnings --no-gitignore --map-tokens 0';
  return ['--model', model, '--message', prompt, ...flags.split(' '), fileName];
}

function aider(name: string, model: string): CodingAgent {
  return {
    name,
    package: null,
    // It edits by blocks of text, without tools.
    script: () => [{ text: `${fileName}\n\`\`\`\n${fileText}\`\`\`\n` }],
    prepare: ({ url, key }) => ({
      program: aiderProgram,
      words: aiderWords(model),
      env: {
        OPENAI_API_BASE: `${url}/v1`,
        OPENAI_API_KEY: key,
        ANTHROPIC_API_BASE: url,
        ANTHROPIC_API_KEY: key,
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      },
    }),
  };
}

/** Agents from PyPI. */
export const pythonAgents: readonly CodingAgent[] = [
  aider("aider with OpenAI's format", 'openai/scripted'),
  aider("aider with Anthropic's format", 'anthropic/scripted'),
];
