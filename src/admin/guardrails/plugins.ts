/** HTTP route for partner accounts of guardrails (docs/reference/resources.md, Checks). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { everyMount } from '../request/deps.ts';

const Plugins = z.object({
  object: z.literal('list'),
  total: z.literal(0),
  data: z.array(z.never()),
});

export function pluginRoutes(): Route<Principal>[] {
  return [
    route({
      mounts: { v1: everyMount.v1, admin: everyMount.admin },
      method: 'GET',
      path: '/plugins',
      scope: 'organisation_settings.read',
      summary: 'List partner accounts of guardrails; always empty',
      response: Plugins,
      handle: async () => ({ object: 'list' as const, total: 0 as const, data: [] }),
    }),
  ];
}
