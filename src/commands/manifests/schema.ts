/** Defines the `schema` command, which prints JSON Schemas for completion and validation in editors. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Failure } from '../../failure.ts';
import { type KindName, kindNames } from '../../model/kinds/kinds.ts';
import { anySchema, kindSchema } from '../../sync/authoring/manifest-schema.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { optionalWordOf, textOption } from '../shared/option.ts';

interface SchemaOptions {
  readonly kind: KindName | undefined;
  readonly out: string | undefined;
}

export const schema: Command<SchemaOptions> = {
  examples: [
    ['gatewright schema > manifest.schema.json', 'Of any manifest'],
    ['gatewright schema ApiKey', 'Of one kind'],
    ['gatewright schema --out .schemas', 'All of them as files'],
  ],
  options: {
    kind: optionalWordOf(kindNames, `One of ${kindNames.join(', ')}; any manifest if none`),
    out: textOption('DIR', {
      describe: 'Folder for a file for each kind and one for any manifest',
      fallback: 'standard output',
    }),
  },
  run: async ({ kind, out }, io) => {
    if (out !== undefined) return await writeSchemas(resolve(io.cwd, out), kind, io);
    io.stdout.writeJson(kind === undefined ? await anySchema() : await kindSchema(kind));
    return 'success';
  },
};

async function writeSchemas(
  folder: string,
  kind: KindName | undefined,
  io: CommandIo,
): Promise<'success'> {
  const wanted = kind === undefined ? kindNames : [kind];
  const files = new Map<string, unknown>();
  if (kind === undefined) files.set('manifest', await anySchema());
  for (const name of wanted) files.set(name, await kindSchema(name));
  for (const [name, content] of files) {
    const file = join(folder, `${name}.schema.json`);
    try {
      await mkdir(folder, { recursive: true });
      await writeFile(file, `${JSON.stringify(content, null, 2)}\n`);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new Failure('invalidInput', `cannot write ${file} (${code})`, { cause: error });
    }
    io.stdout.write(`${file}\n`);
  }
  return 'success';
}
