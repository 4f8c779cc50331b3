/** HTTP route for the services that integrations can connect to. */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { aiProviders } from '../../model/services/ai-providers.ts';
import { everyMount } from '../request/deps.ts';
import { integrationScopes } from './integration-access.ts';

const Catalogue = z.object({
  success: z.literal(true),
  object: z.literal('list'),
  total: z.int().min(0),
  data: z.array(
    z.object({
      id: z.uuid(),
      slug: z.string(),
      name: z.string(),
      status: z.literal('active'),
      object: z.literal('ai-provider'),
    }),
  ),
});

export function aiProviderRoutes(): Route<Principal>[] {
  return [
    route({
      mounts: everyMount,
      method: 'GET',
      path: '/utils/static-resources/ai-providers',
      scope: integrationScopes.either('list'),
      summary: 'List the services that an integration can connect to',
      response: Catalogue,
      handle: async () => catalogue,
    }),
  ];
}

const data = [...aiProviders.values()].map(({ id, slug, name }) => ({
  id,
  slug,
  name,
  status: 'active' as const,
  object: 'ai-provider' as const,
}));

const catalogue = { success: true, object: 'list', total: data.length, data } as const;
