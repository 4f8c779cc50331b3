/** Defines the `adopt` and `release` commands, which change the ownership of single resources. */
import {
  adoptResources as adoptThem,
  type HandOverOptions,
  type HandOverOutcome,
  releaseResources as releaseThem,
} from '../../sync/cycle/hand-over.ts';
import { type Identity, identityKey } from '../../sync/resources/resource-set.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { outputForm, switchOption } from '../shared/option.ts';
import { shellLine } from '../shared/shell-line.ts';
import {
  holderName,
  openClient,
  type ServerOptions,
  serverOptions,
} from '../sources/manifest-options.ts';
import { resourceWords } from '../sources/resource-names.ts';

interface ReleaseOptions extends ServerOptions {
  readonly resources: readonly Identity[];
  readonly 'even-if-suspended': boolean;
  readonly output: 'text' | 'json';
}

interface AdoptOptions extends ReleaseOptions {
  readonly 'take-ownership': boolean;
}

const evenIfSuspended = switchOption('Also act on resources that `gatewright suspend` holds back');

export const adoptCommand: Command<AdoptOptions> = {
  examples: [
    ['gatewright adopt Config/support/routing', 'Before the first apply of its manifest'],
    [
      'gatewright adopt Workspace/support ApiKey/support/bot --take-ownership',
      'Take over from another owner',
    ],
  ],
  options: {
    resources: resourceWords(
      'Resources to adopt: KIND/NAME or KIND/WORKSPACE/NAME, as in manifests',
    ),
    'take-ownership': switchOption('Take over resources that belong to another owner'),
    'even-if-suspended': evenIfSuspended,
    output: outputForm(['text', 'json']),
    ...serverOptions,
  },
  run: async (options, io) => {
    const takeOver = options['take-ownership'];
    const done = await handOver(options, io, { verb: 'adopt', takeOver, act: adoptThem });
    printOutcomes(done, options, io, {
      verb: 'adopted',
      already: 'already belongs to this owner',
      next: 'Resources stay unchanged until a manifest declares them; then sync manages them.',
    });
    return 'success';
  },
};

export const releaseCommand: Command<ReleaseOptions> = {
  examples: [
    ['gatewright release Config/support/routing', 'After its manifest was removed from the source'],
    ['gatewright release ApiKey/support/bot ApiKey/support/job -o json', 'Several, for programs'],
  ],
  options: {
    resources: resourceWords('Resources to release: KIND/NAME or KIND/WORKSPACE/NAME, as declared'),
    'even-if-suspended': evenIfSuspended,
    output: outputForm(['text', 'json']),
    ...serverOptions,
  },
  run: async (options, io) => {
    const done = await handOver(options, io, {
      verb: 'release',
      takeOver: false,
      act: releaseThem,
    });
    printOutcomes(done, options, io, {
      verb: 'released',
      already: 'already had no owner',
      next: 'Manifests that still declare them are blocked from now on; remove them from the source.',
    });
    return 'success';
  },
};

async function handOver(
  { resources, ...options }: ReleaseOptions,
  io: CommandIo,
  given: {
    readonly verb: 'adopt' | 'release';
    readonly takeOver: boolean;
    readonly act: (options: HandOverOptions) => Promise<HandOverOutcome[]>;
  },
): Promise<HandOverOutcome[]> {
  await using client = openClient(options, io);
  const { home, credentials, owner } = options;
  const words = resources.map(identityKey);
  const isEven = options['even-if-suspended'];
  const commandWith = (more: {
    'take-ownership'?: boolean;
    'even-if-suspended'?: boolean;
  }): string =>
    shellLine(io.cwd, given.verb, words, {
      home,
      credentials,
      owner,
      'take-ownership': given.takeOver,
      'even-if-suspended': isEven,
      ...more,
    });
  return await given.act({
    client,
    identities: [...new Map(resources.map((one) => [identityKey(one), one])).values()],
    holder: holderName(given.verb),
    takeOver: given.takeOver,
    takeOverCommand: commandWith({ 'take-ownership': given.verb === 'adopt' }),
    evenIfSuspended: isEven,
    evenIfSuspendedCommand: commandWith({ 'even-if-suspended': true }),
    signal: io.signal,
    onWait: (message) => io.stderr.write(`${message}\n`),
    onWarning: (message) => io.stderr.write(`${message}\n`),
  });
}

function printOutcomes(
  done: readonly HandOverOutcome[],
  { output }: ReleaseOptions,
  io: CommandIo,
  words: { readonly verb: string; readonly already: string; readonly next: string },
): void {
  if (output === 'json') {
    io.stdout.writeJson({ resources: done });
    return;
  }
  for (const { id, resourceId, changed } of done) {
    io.stdout.write(
      `${changed ? `${words.verb} ${id}` : `${id} ${words.already}`} (${resourceId})\n`,
    );
  }
  if (done.some(({ changed }) => changed)) io.stdout.write(`${words.next}\n`);
}
