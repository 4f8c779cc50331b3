/** Defines the `new` command, which prints a minimal manifest of a kind. */
import { Failure } from '../../failure.ts';
import { managedNameForm, managedNamePattern } from '../../managed-name.ts';
import { type KindName, kindNames, kinds, singletonName } from '../../model/kinds/kinds.ts';
import { newManifest } from '../../sync/authoring/new-manifest.ts';
import type { Command } from '../shared/command.ts';
import { optionalWord, requiredChoice, switchOption, textOption } from '../shared/option.ts';

interface NewOptions {
  readonly kind: KindName;
  readonly name: string | undefined;
  readonly workspace: string | undefined;
  readonly alone: boolean;
}

const nameForm = {
  isValid: (given: string) => managedNamePattern.test(given),
  expected: managedNameForm,
};

export const newCommand: Command<NewOptions> = {
  examples: [
    ['gatewright new Workspace support > support.yaml', 'A workspace'],
    ['gatewright new ApiKey bot --workspace support > bot.yaml', 'A key in it'],
    ['gatewright new McpServer', 'A server, with the workspace and the integration that it needs'],
  ],
  options: {
    kind: requiredChoice(kindNames, `One of ${kindNames.join(', ')}`),
    name: optionalWord('Its metadata.name; example-KIND if none'),
    workspace: textOption('NAME', {
      ...nameForm,
      describe: 'Workspace of the source that it belongs to',
      fallback: 'none, or one that is declared with it',
    }),
    alone: switchOption('Leave out the manifests that it refers to'),
  },
  run: async ({ kind, name, workspace, alone }, io) => {
    if (name !== undefined && !managedNamePattern.test(name)) {
      throw new Failure('invalidInput', `the name must have ${managedNameForm}`);
    }
    if (kinds[kind].isSingleton === true && (name ?? singletonName) !== singletonName) {
      throw new Failure('invalidInput', `the name of a ${kind} is ${singletonName}; leave it out`);
    }
    if (workspace !== undefined && kinds[kind].workspaced === 'none') {
      throw new Failure('invalidInput', `a ${kind} belongs to no workspace; leave --workspace out`);
    }
    io.stdout.writeExact(`---\n${newManifest(kind, { name, workspace, alone })}`);
    return 'success';
  },
};
