/** Defines the `fmt` command, which formats manifests without changing their meaning. */
import { randomUUID } from 'node:crypto';
import { chmod, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Ending, Failure } from '../../failure.ts';
import { formatFile } from '../../sync/authoring/format.ts';
import { isGitLocation } from '../../sync/source/git-location.ts';
import { isStandardInput, readSources } from '../../sync/source/source.ts';
import type { SourceFiles } from '../../sync/source/source-files.ts';
import { oneLine } from '../../terminal-text.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { positionalWords, switchOption } from '../shared/option.ts';
import { formatFaults } from '../sources/fault-text.ts';

interface FmtOptions {
  readonly paths: readonly string[];
  readonly check: boolean;
}

export const fmt: Command<FmtOptions> = {
  examples: [
    ['gatewright fmt', 'Format all manifests in the current folder and below'],
    ['gatewright fmt --check gateway', 'Name what would change; exit code 2 if anything would'],
    ['gatewright export - | gatewright fmt -', 'From standard input to standard output'],
  ],
  options: {
    paths: positionalWords('Folders, files, or - for standard input', 'the current folder'),
    check: switchOption('Write nothing; list the files that would change'),
  },
  run: async ({ paths, check }, io) => {
    const locations = paths.length === 0 ? ['.'] : paths;
    const fromStdin = locations.some(isStandardInput);
    if (fromStdin && locations.length > 1) {
      throw new Failure('invalidInput', 'standard input is formatted alone, without files');
    }
    const git = locations.find(isGitLocation);
    if (git !== undefined) {
      throw new Failure('invalidInput', 'files of a clone are formatted, not a Git repository');
    }
    const files = await readSources(locations, {
      cwd: io.cwd,
      cacheDirectory: io.cwd,
      signal: io.signal,
      ...(fromStdin ? { stdin: io.stdin } : {}),
    });
    return await formatAll(files, { check, fromStdin }, io);
  },
};

async function formatAll(
  { files, faults, prefix }: SourceFiles,
  { check, fromStdin }: { readonly check: boolean; readonly fromStdin: boolean },
  io: CommandIo,
): Promise<Ending> {
  const refusals: string[] = [];
  let manifests = 0;
  let changed = 0;
  for (const file of files) {
    io.signal.throwIfAborted();
    const name = `${prefix}${file.path}`;
    const { text, refusal } = /\.json$/i.test(file.path) ? { refusal: null } : formatFile(file);
    if (refusal != null) refusals.push(`${oneLine(name)}: ${refusal}`);
    const isWhole = fromStdin && !check;
    if (isWhole && refusal === null) io.stdout.writeExact(file.content.toString('utf8'));
    if (text === undefined) continue;
    manifests += 1;
    const isChanged = text !== file.content.toString('utf8');
    if (isWhole) io.stdout.writeExact(text);
    if (!isChanged) continue;
    changed += 1;
    if (fromStdin) continue;
    if (!check) await replace(resolve(io.cwd, name), file.content, text);
    io.stdout.write(`${name}\n`);
  }
  if (faults.length > 0) io.stderr.write(formatFaults(faults));
  if (!fromStdin || check) {
    const verb = check ? 'would change' : 'changed';
    io.stderr.write(
      `${manifests} ${manifests === 1 ? 'file' : 'files'} of manifests, ${changed} ${verb}\n`,
    );
  }
  if (refusals.length > 0) {
    throw new Failure('invalidInput', `left as they are:\n${refusals.join('\n')}`);
  }
  if (faults.length > 0) return 'invalidInput';
  return check && changed > 0 ? 'changesPresent' : 'success';
}

/** Replaces a file atomically and keeps its mode; a symbolic link stays a link. */
async function replace(path: string, before: Buffer, text: string): Promise<void> {
  const target = await realpath(path);
  const { mode } = await stat(target);
  const pending = join(dirname(target), `.gatewright-fmt-${randomUUID()}`);
  try {
    await writeFile(pending, text, { flag: 'wx', mode: 0o600, flush: true });
    await chmod(pending, mode & 0o7777);
    // The file may have been changed in an editor meanwhile.
    if (!before.equals(await readFile(target))) throw new Failure('retryable', movedOn(path));
    await rename(pending, target);
  } catch (error) {
    await rm(pending, { force: true });
    if (error instanceof Failure) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new Failure('invalidInput', `cannot write ${path} (${code})`, { cause: error });
  }
}

function movedOn(path: string): string {
  return `${path} was changed by somebody else meanwhile and is left as it is; run it again`;
}
