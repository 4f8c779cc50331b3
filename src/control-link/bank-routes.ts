/** Serves the exchange of units of limits to gateways without a database. */
import { z } from 'zod';
import { type Route, route } from '../http/routes/route.ts';
import type { LimitBank } from '../ledger/limit-bank.ts';
import { changeSetBodyLimits } from '../model/json/body-limits.ts';
import {
  ExchangeAnswer,
  ExchangeRequest,
  HolderMessage,
  SettleRequest,
  WantedAnswer,
  WantedRequest,
} from './bank-messages.ts';
import { linkPaths } from './link-paths.ts';

/** The handlers encode their responses by the schemas of the messages. */
const Encoded = z.unknown();
const Done = z.strictObject({});

export function bankRoutes(bank: LimitBank): Route<null>[] {
  const shared = {
    method: 'POST',
    mounts: { root: ['none'] },
    isRepeatable: true,
    bodyLimits: changeSetBodyLimits,
  } as const;
  return [
    route({
      ...shared,
      path: linkPaths.exchange,
      summary: 'Exchange units of limits',
      body: ExchangeRequest,
      response: Encoded,
      handle: async ({ body }) => {
        const answer = await bank.exchange({ ...body, keepsAnswer: true });
        return z.encode(ExchangeAnswer, { answer });
      },
    }),
    route({
      ...shared,
      path: linkPaths.wanted,
      summary: 'List the counters on which other gateways run short',
      body: WantedRequest,
      response: Encoded,
      handle: async ({ body: { holders } }) =>
        z.encode(WantedAnswer, { counters: await bank.listWanted(holders) }),
    }),
    route({
      ...shared,
      path: linkPaths.settle,
      summary: 'Charge usage that a gateway had on disk when it died',
      body: SettleRequest,
      response: Done,
      handle: async ({ body: { holder, uses } }) => {
        await bank.settle(holder, uses);
        return {};
      },
    }),
    route({
      ...shared,
      path: linkPaths.closeHolder,
      summary: 'Charge what a gateway still holds',
      body: HolderMessage,
      response: Done,
      handle: async ({ body }) => {
        await bank.close(body);
        return {};
      },
    }),
  ];
}
