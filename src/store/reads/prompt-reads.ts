/** Reads what rendering a prompt needs: one of its versions and the partials that it includes. */
import type { PromptContent } from '../../model/prompts/prompt-content.ts';
import type { PartialContent } from '../../model/prompts/prompt-partial.ts';
import { splitReference } from '../../model/prompts/prompt-reference.ts';
import { PromptTemplate } from '../../model/prompts/prompt-rendering.ts';
import { parseTemplate } from '../../model/prompts/template-parser.ts';
import type { Db } from '../connection/db.ts';
import * as promptPartials from '../prompts/prompt-partials.ts';
import * as promptVersions from '../prompts/prompt-versions.ts';
import * as prompts from '../prompts/prompts.ts';

/** One version of a prompt, ready to be rendered. */
export interface RenderablePrompt {
  readonly slug: string;
  readonly workspaceId: string;
  readonly content: PromptContent;
  readonly template: PromptTemplate;
  /** Texts of partials by name; missing partials are absent. */
  readonly partials: ReadonlyMap<string, string>;
}

/** Maximum number of partials of one prompt, including nested ones. */
const partialsMax = 100;

/** `reference` is an id or slug, optionally followed by `@` and a version; the default is the published one. */
export async function findRenderable(
  db: Db,
  organisationId: string,
  reference: string,
): Promise<RenderablePrompt | undefined> {
  const [name, version] = splitReference(reference);
  const row = await prompts.findByIdOrSlug(db, organisationId, name);
  if (row === undefined) return undefined;
  const text = version === undefined ? row : await promptVersions.find(db, row, version);
  if (text === undefined) return undefined;
  const content = JSON.parse(text.content) as PromptContent;
  const template = new PromptTemplate(content);
  const partials = await readPartials(db, row, template.partials);
  return { slug: row.slug, workspaceId: row.workspace_id, content, template, partials };
}

async function readPartials(
  db: Db,
  of: prompts.StoredPrompt,
  names: readonly string[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const pending = [...names];
  const seen = new Set(names);
  while (pending.length > 0 && found.size < partialsMax) {
    const name = pending.shift()!;
    const text = await readPartial(db, of, name);
    if (text === undefined) continue;
    found.set(name, text);
    for (const inner of parseTemplate(text).partials) {
      if (!seen.has(inner)) pending.push(inner);
      seen.add(inner);
    }
  }
  return found;
}

/** Reads an active partial of the prompt's workspace or of the organisation. */
async function readPartial(
  db: Db,
  of: prompts.StoredPrompt,
  reference: string,
): Promise<string | undefined> {
  const [name, version] = splitReference(reference);
  const row = await promptPartials.findByIdOrSlug(db, of.organisation_id, name);
  const isUsable =
    row !== undefined &&
    row.status === 'active' &&
    [null, of.workspace_id].includes(row.workspace_id);
  if (!isUsable) return undefined;
  const text = version === undefined ? row : await promptVersions.find(db, row, version);
  return text && (JSON.parse(text.content) as PartialContent).string;
}
