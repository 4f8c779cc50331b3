/** Defines the `render` command, which prints the manifests of a source for one environment. */
import { renderedList, renderedYaml } from '../../sync/authoring/rendered.ts';
import { composedManifests } from '../../sync/manifest/composed.ts';
import { apiVersion } from '../../sync/manifest/document-owner.ts';
import type { Command } from '../shared/command.ts';
import {
  environmentOption,
  outputForm,
  positionalWords,
  workspaceOption,
} from '../shared/option.ts';
import {
  checkOffline,
  offlineVariables,
  readOffline,
  requireDeclared,
} from '../sources/offline-source.ts';
import { sourceFailure } from '../sources/valid-part.ts';

interface RenderOptions {
  readonly paths: readonly string[];
  readonly workspace: readonly string[];
  readonly env: string | undefined;
  readonly output: 'yaml' | 'json';
}

export const render: Command<RenderOptions> = {
  examples: [
    ['gatewright render examples/2-environments --env prod', 'Render one environment'],
    ['gatewright render gateway --env dev -o json', 'The same as one List, for programs'],
    ['gatewright render gateway --workspace support', 'Render one workspace'],
  ],
  options: {
    paths: positionalWords(
      'Folders, files, Git URLs, or - for standard input',
      'the current folder',
    ),
    workspace: workspaceOption,
    env: environmentOption,
    output: outputForm(['yaml', 'json'], 'Form of the manifests'),
  },
  run: async ({ paths, workspace, env, output }, io) => {
    const files = await readOffline(paths, env, io);
    const scope = workspace.length === 0 ? null : new Set(workspace);
    const checked = await checkOffline(files, io.cwd, scope);
    if (checked.faults.length > 0) throw sourceFailure(checked.faults);
    requireDeclared(workspace, checked);
    const all = await composedManifests(files, await offlineVariables(files, io.cwd));
    const manifests = all.filter(
      ({ kind, workspace: within, name }) =>
        scope === null || scope.has((kind === 'Workspace' ? name : within) ?? ''),
    );
    if (output === 'json') io.stdout.writeJson(renderedList(apiVersion, manifests));
    else io.stdout.writeExact(renderedYaml(manifests));
    return 'success';
  },
};
