/** Knows how a prompt is filled in over the Admin API, without a model being asked (docs/reference/resources.md, Templates). */
import { z } from 'zod';
import type { Principal } from '../../auth/principal.ts';
import { type Route, route } from '../../http/routes/route.ts';
import { PromptRender } from '../../model/prompts/prompt.ts';
import { TemplateError } from '../../model/prompts/template-parser.ts';
import { JsonRecord } from '../../model/wire/json-record.ts';
import { validationError } from '../../model/wire/validation-error.ts';
import * as promptReads from '../../store/reads/prompt-reads.ts';
import { type AdminDeps, everyMount } from '../request/deps.ts';
import type { BodyRequest } from '../request/frame-fields.ts';
import { findVisible } from './prompt-access.ts';

export function promptRenderRoutes(deps: AdminDeps): Route<Principal>[] {
  return [
    route({
      mounts: everyMount,
      path: '/prompts/:promptId/render',
      ...{ method: 'POST', scope: 'prompts.render' },
      summary: 'Fill in a prompt, and answer the request for a model that comes of it',
      body: PromptRender,
      response: z.object({ success: z.literal(true), data: JsonRecord }),
      handle: (request) => render(deps, request),
    }),
  ];
}

async function render(deps: AdminDeps, request: BodyRequest<z.infer<typeof PromptRender>>) {
  const { caller, params, body } = request;
  const db = deps.database.readable;
  const found = await promptReads.findRenderable(db, caller.organisationId, params.promptId!);
  const row = found && { ...found, workspace_id: found.workspaceId };
  const asked = { caller, query: {} };
  const { template, partials } = await findVisible(db, asked, Promise.resolve(row));
  try {
    return { success: true as const, data: template.render(body, partials) };
  } catch (thrown) {
    if (!(thrown instanceof TemplateError)) throw thrown;
    throw validationError({ path: ['variables'], message: thrown.message });
  }
}
