/** Rewrites the history of the repository, has mails refused, and makes the name of the provider unresolvable. */
import { providerHost } from '../scene/scene.ts';
import type { FaultKind } from './fault.ts';
import { failingProvider } from './permits.ts';

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
  {
    name: 'mails refused',
    durationMs: [1_000, 6_000],
    permits: [],
    targetsOf: () => [{ name: 'mailbox', claims: ['mailbox'] }],
    inject: async ({ mailbox }) => {
      mailbox.order({ refuses: true });
      return async () => mailbox.order({ refuses: false });
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
