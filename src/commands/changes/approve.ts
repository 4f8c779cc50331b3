/** Defines the `approve` command, which approves changed definitions of an MCP server after showing them. */
import { Failure } from '../../failure.ts';
import { findingText } from '../../model/mcp/definition-finding.ts';
import { visibleText } from '../../model/mcp/visible-text.ts';
import { identityKey } from '../../sync/resources/resource-set.ts';
import {
  readDefinitions,
  refreshDefinitions,
  type ServerDefinition,
  type ServerDefinitions,
  sendApproval,
} from '../../sync/server/definitions.ts';
import { unofferedLines } from '../../sync/server/unoffered.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { outputForm, requiredWord, switchOption, textOption } from '../shared/option.ts';
import { askYes, requireTerminal } from '../sources/confirm.ts';
import { openClient, type ServerOptions, serverOptions } from '../sources/manifest-options.ts';
import { readLive, selectResources } from '../status/live-resources.ts';
import { refusalAsFailure } from '../status/suspend.ts';

interface ApproveOptions extends Pick<ServerOptions, 'home' | 'credentials'> {
  readonly integration: string;
  readonly name: string | undefined;
  readonly refresh: boolean;
  readonly yes: boolean;
  readonly output: 'text' | 'yaml';
}

const linesMax = 100;
const nameCharsMax = 255;
const lineCharsMax = 1_000;

export const approve: Command<ApproveOptions> = {
  examples: [
    ['gatewright approve crm', 'Show what changed at the server crm, ask, and approve it'],
    ['gatewright approve crm --name search --yes', 'Approve one tool, without asking'],
    ['gatewright approve crm --refresh -o yaml', 'Print approved_definitions for the manifest'],
  ],
  options: {
    integration: requiredWord('McpIntegration by name, WORKSPACE/NAME, slug or id'),
    name: textOption('NAME', {
      describe: 'Only the tool, prompt or resource of this name',
      fallback: 'all that are not approved',
    }),
    refresh: switchOption('Have the server list its definitions again first'),
    yes: switchOption('Do not ask'),
    output: outputForm(
      ['text', 'yaml'],
      'yaml prints the digests for a manifest and approves nothing',
    ),
    home: serverOptions.home,
    credentials: serverOptions.credentials,
  },
  run: async (options, io) => {
    if (options.output === 'text') requireTerminal('approve', options.yes, io);
    const unowned = { ...options, owner: undefined };
    const filter = { kind: 'McpIntegration', name: options.integration, workspace: [] } as const;
    const live = await readLive(unowned, io);
    const [resource, ...others] = selectResources(live, filter);
    if (others.length > 0) {
      const message = `several integrations fit ${options.integration}; name one by its id`;
      throw new Failure('invalidInput', message);
    }
    await using client = openClient(unowned, io);
    const { id, identity } = resource!;
    const { signal } = io;
    if (options.refresh) {
      const fault = await refusalAsFailure(refreshDefinitions(client, id, signal));
      if (fault !== null) throw new Failure('unreachable', `the MCP server: ${fault}`);
    }
    const { data, approved_by: by } = await refusalAsFailure(readDefinitions(client, id, signal));
    const unoffered = by === null ? [] : unofferedLines(live, identityKey(identity), data);
    for (const line of unoffered) io.stderr.write(`warning: ${visibleText(line, lineCharsMax)}\n`);
    const chosen = data.filter(
      (one) => one.state !== 'trusted' && (options.name === undefined || one.name === options.name),
    );
    if (options.output === 'yaml') {
      io.stdout.write(yamlText(data, chosen));
      return 'success';
    }
    if (by === 'declared') throw declaredElsewhere(identityKey(identity));
    if (chosen.length === 0) {
      io.stdout.write(`${nothingChosen(identityKey(identity), options, { data, by })}\n`);
      return 'success';
    }
    if (!options.yes && !(await isConfirmed(chosen, io))) return 'changesPresent';
    await refusalAsFailure(sendApproval(client, id, chosen, signal));
    io.stdout.write(`${identityKey(identity)}: approved ${chosen.length}\n`);
    return 'success';
  },
};

interface KnownDefinitions {
  readonly data: readonly ServerDefinition[];
  readonly by: ServerDefinitions['approved_by'];
}

/** @throws Failure when nothing is known of the server, or nothing of the given name */
function nothingChosen(
  key: string,
  { integration, name }: ApproveOptions,
  { data, by }: KnownDefinitions,
): string {
  if (by === null) {
    const command = `gatewright approve ${integration} --refresh`;
    const message = `the server of ${key} has not listed its definitions yet; ${command} has it list them, and approves the first list`;
    throw new Failure('invalidInput', message);
  }
  if (name === undefined) return `${key}: every definition is approved (${data.length})`;
  if (data.some((one) => one.name === name)) return `${key}: ${name} is approved`;
  throw new Failure('invalidInput', `${key} has no definition with the name ${name}`);
}

function declaredElsewhere(name: string): Failure {
  const message = `${name} states approved_definitions in its manifest; change them there: gatewright approve -o yaml prints the digests`;
  return new Failure('invalidInput', message);
}

async function isConfirmed(chosen: readonly ServerDefinition[], io: CommandIo): Promise<boolean> {
  for (const one of chosen) {
    const warnings = one.warnings.map(
      ({ code, field, excerpt }) => `${code} in ${field}: ${excerpt}`,
    );
    const name = visibleText(one.name, nameCharsMax);
    io.stderr.write(`${findingText({ ...one, name, warnings }, linesMax)}\n`);
  }
  return await askYes('Approve these?', io);
}

/** Resources are never declared; a definition that is gone is left out. */
function yamlText(data: readonly ServerDefinition[], chosen: readonly ServerDefinition[]): string {
  const approved = data.flatMap((one) => {
    const digest = chosen.includes(one) ? one.seen_digest : one.approved_digest;
    return digest === null || one.type === 'resource' ? [] : [{ ...one, digest }];
  });
  if (approved.length === 0) return 'approved_definitions: []\n';
  // JSON strings are YAML.
  const lines = approved.map(
    ({ type, name, digest }) =>
      `  - {type: ${type}, name: ${JSON.stringify(name)}, digest: ${JSON.stringify(digest)}}\n`,
  );
  return `approved_definitions:\n${lines.join('')}`;
}
