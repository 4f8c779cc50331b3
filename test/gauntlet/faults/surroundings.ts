/** Makes what surrounds the product fail or change: repository, mails, tools, names, and a second daemon. */
import { providerHost } from '../scene/scene.ts';
import type { MailboxOrder } from '../witnesses/mailbox.ts';
import type { FaultKind } from './fault.ts';
import { failingProvider } from './permits.ts';

function mailFault(name: string, failure: MailboxOrder['failure']): FaultKind {
  return {
    name,
    durationMs: [1_000, 6_000],
    permits: [],
    targetsOf: () => [{ name: 'mailbox', claims: ['mailbox'] }],
    inject: async ({ mailbox }) => {
      mailbox.order({ failure });
      return async () => mailbox.order({ failure: null });
    },
  };
}

export const surroundingFaults: readonly FaultKind[] = [
  {
    name: 'Git force-push',
    durationMs: [1_000, 5_000],
    permits: [],
    targetsOf: () => [{ name: 'repository', claims: ['repository'] }],
    inject: async ({ repository }) => {
      repository.rewrite();
      return async () => repository.restore();
    },
  },
  mailFault('mails refused', 'refuses'),
  mailFault('mails stalled', 'stalls'),
  {
    name: 'MCP tools changed',
    durationMs: [1_000, 5_000],
    permits: [],
    targetsOf: () => [{ name: 'tool-server', claims: ['tool list'] }],
    inject: async ({ toolServer }) => {
      toolServer.order({ isListChanged: true });
      return async () => toolServer.order({ isListChanged: false });
    },
  },
  {
    name: 'second daemon',
    durationMs: [2_000, 6_000],
    permits: [],
    targetsOf: () => [{ name: 'daemon-1', claims: ['daemon-1'] }],
    inject: async ({ secondDaemon }) => {
      await secondDaemon.start();
      return () => secondDaemon.stop();
    },
  },
  {
    name: 'DNS failure',
    durationMs: [1_000, 5_000],
    permits: [failingProvider],
    targetsOf: () => [{ name: 'name of the provider', claims: ['names'] }],
    inject: async ({ gateways }) => {
      const before = gateways.map(({ parts }) => parts.shim.hosts);
      for (const { parts } of gateways)
        parts.shim.hosts = { ...parts.shim.hosts, [providerHost]: null };
      return async () => {
        for (const [at, { parts }] of gateways.entries()) parts.shim.hosts = before[at]!;
      };
    },
  },
];
