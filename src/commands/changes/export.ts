/** Defines the `export` command, which writes the resources of the server as manifests. */
import { join, resolve } from 'node:path';
import { type KindName, kindNames } from '../../model/kinds/kinds.ts';
import { type Export, exportManifests } from '../../sync/export/export.ts';
import { unknownLines } from '../../sync/report/left-alone.ts';
import { readSnapshot, toLiveSet } from '../../sync/server/live.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { choicesOption, requiredWord, switchOption, workspaceOption } from '../shared/option.ts';
import {
  openClient,
  type ServerOptions,
  scopeOf,
  serverOptions,
} from '../sources/manifest-options.ts';
import { writeTree } from './export-tree.ts';

interface ExportCommandOptions extends ServerOptions {
  readonly path: string;
  readonly kind: readonly KindName[];
  readonly workspace: readonly string[];
  readonly unmanaged: boolean;
}

export const exportCommand: Command<ExportCommandOptions> = {
  examples: [
    ['gatewright export ./gateway', 'All resources of this owner, one file for each kind'],
    ['gatewright export - --kind Config,Guardrail', 'Two kinds, to standard output'],
    ['gatewright export ./found --unmanaged', 'Resources without owner, ready to be adopted'],
  ],
  options: {
    path: requiredWord('Folder for the files, or - for standard output'),
    ...serverOptions,
    kind: choicesOption(kindNames, 'KIND,..', {
      describe: `Only these kinds, of ${kindNames.join(', ')}`,
      fallback: 'all',
    }),
    workspace: workspaceOption,
    unmanaged: switchOption('Export resources without owner instead of those of this owner'),
  },
  run: async (options, io) => {
    await using client = openClient(options, io);
    const read = await readSnapshot(client, null, io.signal);
    const exported = exportManifests(toLiveSet(read, client.owner, []), {
      owner: client.owner,
      kinds: options.kind,
      scope: scopeOf(options),
      unmanaged: options.unmanaged,
    });
    if (options.path === '-') {
      io.stdout.writeExact(exported.files.map(({ text }) => text).join('---\n'));
    } else {
      await writeFiles(resolve(io.cwd, options.path), exported, io);
    }
    for (const line of unknownLines(read.unknown ?? [])) io.stderr.write(`${line}\n`);
    for (const id of exported.tooLarge) {
      io.stderr.write(`skipped, larger than the maximum file size of a source: ${id}\n`);
    }
    for (const field of exported.moved) {
      io.stderr.write(
        `unknown field, written under extensions, where it has no effect: ${field}\n`,
      );
    }
    for (const stub of exported.stubs) io.stderr.write(`fill in: ${stub}\n`);
    return 'success';
  },
};

async function writeFiles(folder: string, { files }: Export, io: CommandIo): Promise<void> {
  if (files.length === 0) {
    io.stdout.write('nothing to export\n');
    return;
  }
  await writeTree(folder, files);
  for (const { path, resources } of files) {
    const count = `${resources} ${resources === 1 ? 'document' : 'documents'}`;
    io.stdout.write(`${join(folder, path)}  ${count}\n`);
  }
}
