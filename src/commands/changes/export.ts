/** Knows the command that writes the server's state down as manifests. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Failure } from '../../failure.ts';
import { type KindName, kindNames } from '../../model/kinds/kinds.ts';
import { type Export, exportManifests } from '../../sync/export/export.ts';
import { unknownLines } from '../../sync/report/left-alone.ts';
import { readSnapshot, toLiveSet } from '../../sync/server/live.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { choices, flag, requiredWord, workspaceOption } from '../shared/option.ts';
import {
  openClient,
  type ServerOptions,
  scopeOf,
  serverOptions,
} from '../sources/manifest-options.ts';

interface ExportCommandOptions extends ServerOptions {
  readonly path: string;
  readonly kind: readonly KindName[];
  readonly workspace: readonly string[];
  readonly unmanaged: boolean;
}

export const exportCommand: Command<ExportCommandOptions> = {
  examples: [
    ['gatewright export ./gateway', 'Everything this owner has declared, a file a kind'],
    ['gatewright export - --kind Config,Guardrail', 'Two kinds, to standard output'],
    ['gatewright export ./found --unmanaged', 'What was made by hand, ready to be adopted'],
  ],
  options: {
    path: requiredWord('Folder for the files, or - for standard output'),
    ...serverOptions,
    kind: choices(kindNames, 'KIND,..', {
      describe: `Only these kinds, of ${kindNames.join(', ')}`,
      fallback: 'all',
    }),
    workspace: workspaceOption,
    unmanaged: flag('What no owner has declared, instead of what this one has'),
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
      io.stderr.write(`left out, larger than a file of a source may be: ${id}\n`);
    }
    for (const stub of exported.stubs) io.stderr.write(`fill in: ${stub}\n`);
    return 'success';
  },
};

/** Overwrites nothing. */
async function writeFiles(folder: string, { files }: Export, io: CommandIo): Promise<void> {
  for (const { path, text, resources } of files) {
    const file = join(folder, path);
    try {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text, { flag: 'wx' });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const reason =
        code === 'EEXIST' ? 'it exists already; export into an empty folder' : `(${code})`;
      throw new Failure('invalidInput', `cannot write ${file}: ${reason}`, {
        cause: error,
      });
    }
    io.stdout.write(`${file}  ${resources} ${resources === 1 ? 'document' : 'documents'}\n`);
  }
  if (files.length === 0) io.stdout.write('nothing to export\n');
}
