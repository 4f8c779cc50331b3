/** HTTP route for the checks that a guardrail may contain (docs/reference/resources.md, Checks). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { checkKinds } from '../../model/guardrails/guardrail-check-kinds.ts';
import { guardrailScopes } from '../access/guardrail-access.ts';
import { everyMount } from '../request/deps.ts';

const CatalogueQuery = z.object({ resource: z.literal('guardrails') });
const Catalogue = z.object({
  object: z.literal('schema'),
  evals: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      type: z.literal('guardrail'),
      guardrailCategory: z.enum(['BASIC', 'PARTNER']),
      targets: z.array(z.enum(['llm', 'mcp_tools'])),
      supportedHooks: z.array(z.enum(['beforeRequestHook', 'afterRequestHook'])),
      description: z.array(z.object({ type: z.literal('subHeading'), text: z.string() })),
      parameters: z
        .looseObject({ type: z.literal('object'), properties: z.record(z.string(), z.unknown()) })
        .describe('A JSON Schema.'),
    }),
  ),
});

export function guardrailCatalogueRoutes(): Route<Principal>[] {
  return [
    route({
      mounts: everyMount,
      method: 'GET',
      path: '/utils/static-resources/schema',
      scope: guardrailScopes.either('list'),
      summary: 'List the checks that a guardrail may contain',
      query: CatalogueQuery,
      response: Catalogue,
      handle: async () => {
        catalogue ??= makeCatalogue();
        return catalogue;
      },
    }),
  ];
}

/** Created on the first request, because it takes some milliseconds. */
let catalogue: z.infer<typeof Catalogue> | undefined;

function makeCatalogue(): z.infer<typeof Catalogue> {
  const evals: z.infer<typeof Catalogue>['evals'] = Object.entries(checkKinds).map(
    ([id, { name, about, parameters, tools }]) => {
      const { $schema: _, ...schema } = z.toJSONSchema(parameters, { io: 'input' });
      return {
        id,
        name,
        type: 'guardrail',
        guardrailCategory: id.startsWith('default.') ? 'BASIC' : 'PARTNER',
        targets: tools ? ['llm', 'mcp_tools'] : ['llm'],
        supportedHooks: ['beforeRequestHook', 'afterRequestHook'],
        description: [{ type: 'subHeading', text: about }],
        parameters: { ...schema, type: 'object', properties: schema.properties ?? {} },
      };
    },
  );
  return { object: 'schema', evals };
}
