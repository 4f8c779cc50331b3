/** HTTP route that has a guardrail judge a text (docs/reference/resources.md, Guardrails). */
import type { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import type { GuardrailActions, GuardrailCheck } from '../../model/guardrails/guardrail.ts';
import {
  GuardrailTrialRequest,
  GuardrailTrialResult,
} from '../../model/guardrails/guardrail-trial.ts';
import { ApiError } from '../../model/wire/errors.ts';
import { readDocument } from '../../model/wire/json-record.ts';
import { findGuardrailOfPath, guardrailScopes } from '../access/guardrail-access.ts';
import { type AdminDeps, everyMount } from '../request/deps.ts';
import type { BodyRequest } from '../request/frame-fields.ts';

export function guardrailTrialRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      mounts: everyMount,
      path: '/guardrails/:guardrailId/test',
      method: 'POST',
      scope: guardrailScopes.either('read'),
      summary: 'Have a guardrail judge a text; nothing is stored, and no service is called',
      body: GuardrailTrialRequest,
      response: GuardrailTrialResult,
      isRepeatable: true,
      handle: (request) => test(deps, request),
    }),
  ];
}

async function test(
  { database, guardrailTrials }: AdminDeps,
  request: BodyRequest<z.infer<typeof GuardrailTrialRequest>>,
): Promise<GuardrailTrialResult> {
  const row = await findGuardrailOfPath(database.readable, request, undefined, 'read');
  const guardrail = {
    id: row.slug,
    savedId: row.id,
    checks: readDocument<GuardrailCheck[]>(row.checks) ?? [],
    actions: readDocument<GuardrailActions>(row.actions) ?? {},
  };
  const result = await guardrailTrials.run(guardrail, request.body);
  if (result !== null) return result;
  const message = 'Too many guardrails are being tested; try again in a moment';
  throw new ApiError('rateLimited', message);
}
