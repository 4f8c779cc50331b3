/** Knows the commands that make single resources this owner's, and give them up. */
import {
  adoptResources as adoptThem,
  type HandOverOptions,
  type HandOverOutcome,
  releaseResources as releaseThem,
} from '../../sync/cycle/hand-over.ts';
import { type Identity, identityKey } from '../../sync/resources/resource-set.ts';
import type { Command, CommandIo } from '../shared/command.ts';
import { flag, outputForm } from '../shared/option.ts';
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

const evenIfSuspended = flag('Also what `gatewright suspend` holds back');

export const adopt: Command<AdoptOptions> = {
  examples: [
    [
      'gatewright adopt Config/support/routing',
      'Before its manifest is applied for the first time',
    ],
    [
      'gatewright adopt Workspace/support ApiKey/support/bot --take-ownership',
      'From another owner',
    ],
  ],
  options: {
    resources: resourceWords(
      'What to adopt: KIND/NAME or KIND/WORKSPACE/NAME, as manifests name it',
    ),
    'take-ownership': flag('Take over what belongs to another owner'),
    'even-if-suspended': evenIfSuspended,
    output: outputForm(['text', 'json']),
    ...serverOptions,
  },
  run: async (options, io) => {
    const takeOver = options['take-ownership'];
    const done = await handOver(options, io, { verb: 'adopt', takeOver, act: adoptThem });
    tell(done, options, io, {
      verb: 'adopted',
      already: 'is this owner’s already',
      next: 'What no manifest declares is kept as it is; declare it, and sync compares it from then on.',
    });
    return 'success';
  },
};

export const release: Command<ReleaseOptions> = {
  examples: [
    ['gatewright release Config/support/routing', 'After its manifest was taken out of the source'],
    ['gatewright release ApiKey/support/bot ApiKey/support/job -o json', 'Several, for programs'],
  ],
  options: {
    resources: resourceWords(
      'What to give up: KIND/NAME or KIND/WORKSPACE/NAME, as it was declared',
    ),
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
    tell(done, options, io, {
      verb: 'released',
      already: 'was nobody’s already',
      next: 'A manifest that still declares it is blocked from now on; take it out of the source.',
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
  const again = (more: { 'take-ownership'?: boolean; 'even-if-suspended'?: boolean }): string =>
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
    takeOverCommand: again({ 'take-ownership': given.verb === 'adopt' }),
    evenIfSuspended: isEven,
    evenIfSuspendedCommand: again({ 'even-if-suspended': true }),
    signal: io.signal,
    onWait: (message) => io.stderr.write(`${message}\n`),
    onWarning: (message) => io.stderr.write(`${message}\n`),
  });
}

function tell(
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
