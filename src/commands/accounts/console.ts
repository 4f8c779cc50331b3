/** Defines the `console` command, which prints a link that signs a user in to the console. */
import { Failure } from '../../failure.ts';
import { createSignInLink } from '../../sync/server/sign-in-links.ts';
import type { Command } from '../shared/command.ts';
import { homeOption, outputForm, quoted, textOption } from '../shared/option.ts';
import { openClient, serverOptions } from '../sources/manifest-options.ts';
import { refusalAsFailure } from '../status/suspend.ts';

interface Options {
  readonly user: string | undefined;
  readonly output: 'text' | 'json';
  readonly credentials: string | undefined;
  readonly home: string | undefined;
}

export const consoleCommand: Command<Options> = {
  examples: [
    ['gatewright console', 'Print a link that signs the owner in, once, within five minutes'],
    ['gatewright console --user ann@example.com', 'For another user of the organisation'],
  ],
  options: {
    user: textOption('EMAIL', {
      describe: 'E-mail address of the user to sign in',
      fallback: 'the owner of the organisation',
    }),
    output: outputForm(['text', 'json']),
    credentials: serverOptions.credentials,
    home: homeOption,
  },
  run: async (options, io) => {
    const { user = null } = options;
    await using client = openClient({ ...options, owner: undefined }, io);
    const link = await refusalAsFailure(createSignInLink(client, user, io.signal));
    if (link === null) {
      const who =
        user === null ? 'the organisation has no owner' : `no user has the address ${quoted(user)}`;
      throw new Failure('invalidInput', `${who}; see the users with GET /v2/admin/users`);
    }
    const { url, expiresAt, email } = link;
    if (options.output === 'json') {
      io.stdout.writeJson({ url, user: email, expires_at: expiresAt });
      return 'success';
    }
    io.stdout.write(`${url}\n`);
    io.stderr.write(`signs ${email} in once, until ${expiresAt}\n`);
    return 'success';
  },
};
