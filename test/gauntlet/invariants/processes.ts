/** Checks that no process has ended by itself. */
import type { Invariant } from './invariant.ts';

export const processInvariants: readonly Invariant[] = [
  {
    name: 'processes that ended by themselves',
    document: 'docs/guides/operations.md, When something is down',
    check: async ({
      scene: { gateways, controls, daemon, secondDaemon, provider, toolServer, mailbox, gitHost },
    }) =>
      [
        ...gateways,
        ...controls,
        daemon,
        secondDaemon,
        provider,
        toolServer,
        mailbox,
        gitHost,
      ].flatMap(({ crashes }) => crashes),
  },
];
