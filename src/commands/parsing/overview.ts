/** Lists all commands by purpose, for a command line without a command. */
import type { CommandEntry } from '../shared/command.ts';

/** Every command has one group; groups and commands are listed in this order. */
export const commandGroups: Readonly<Record<string, readonly string[]>> = {
  'Try it': ['up', 'mock-upstream'],
  'Write manifests': ['new', 'explain', 'schema', 'fmt', 'validate', 'render', 'guardrails'],
  'Change the server': ['plan', 'apply', 'export', 'adopt', 'release', 'approve', 'rollback'],
  'Manage access': ['console', 'service-account', 'tsg'],
  'Look at the server': ['get', 'describe', 'logs', 'history', 'audit'],
  'Sync from Git': ['sync', 'status', 'suspend', 'resume'],
  'Run a server': ['serve', 'migrate', 'bootstrap', 'jobs', 'region-logs', 'rotate-master-key'],
  'Check an installation': ['doctor', 'settings', 'healthcheck', 'images', 'verify'],
  'Set up a shell': ['completion'],
};

const usageColumnsMax = 33;

export function overviewText(commands: ReadonlyMap<string, CommandEntry>): string {
  const groups = Object.entries(commandGroups).map(([title, names]) => {
    const lines = names.map((name) => {
      const { usage, summary } = commands.get(name)!;
      return `  ${usage.padEnd(usageColumnsMax)}${summary}\n`;
    });
    return `${title}\n${lines.join('')}`;
  });
  return [`${purpose}\n`, ...groups, `${closing.join('\n')}\n`].join('\n');
}

const purpose =
  'gatewright COMMAND: control plane, GitOps operator and gateway for LLM and MCP traffic';

const closing = [
  '`gatewright help COMMAND` shows options and examples; `gatewright version` shows the version.',
  'Every command takes --no-color. Settings come from the environment and from .env;',
  '`gatewright settings` lists them.',
  'Exit codes: 0 success, 1 unexpected error, 2 changes present, 3 partly failed, 4 refused by a',
  'guard, 5 invalid input, 6 unreachable, 7 try again, 8 plan is stale; 130 Ctrl-C, 143 SIGTERM.',
];
