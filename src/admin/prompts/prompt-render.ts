/** HTTP route that renders a prompt without calling a model (docs/reference/resources.md, Templates). */
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
      method: 'POST',
      scope: 'prompts.render',
      summary: 'Render a prompt to a model request',
      body: PromptRender,
      response: z.object({ success: z.literal(true), data: JsonRecord }),
      handle: (request) => render(deps, request),
    }),
  ];
}

async function render(deps: AdminDeps, request: BodyRequest<z.infer<typeof PromptRender>>) {
  const { caller, params, body } = request;
  const db = deps.database.readable;
  const prompt = await promptReads.findRenderable(
    promptReads.databasePrompts(db, caller.organisationId),
    params.promptId!,
  );
  const row = prompt && { ...prompt, workspace_id: prompt.workspaceId };
  const access = { caller, query: {} };
  const { template, partials } = await findVisible(db, access, Promise.resolve(row));
  try {
    return { success: true as const, data: template.render(body, partials) };
  } catch (thrown) {
    if (!(thrown instanceof TemplateError)) throw thrown;
    throw validationError({ path: ['variables'], message: thrown.message });
  }
}
