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

/** A prompt or partial with its published content. */
interface PromptRow {
  readonly organisation_id: string;
  readonly id: string;
  readonly slug: string;
  readonly content: string;
  readonly version_number: number;
}

interface OwnedPromptRow extends PromptRow {
  readonly workspace_id: string;
}

interface PartialRow extends PromptRow {
  readonly workspace_id: string | null;
  readonly status: 'active' | 'archived';
}

/** Finds the rows of prompts of one organisation. */
export interface PromptSource {
  findPrompt(reference: string): Promise<OwnedPromptRow | undefined>;
  findPartial(reference: string): Promise<PartialRow | undefined>;
  /** `version` is a number, `latest`, `default`, an id, or the name of a label. */
  findVersion(
    of: PromptRow & { readonly workspace_id: string | null },
    version: string,
  ): Promise<{ readonly content: string } | undefined>;
}

export function databasePrompts(db: Db, organisationId: string): PromptSource {
  return {
    findPrompt: (reference) => prompts.findByIdOrSlug(db, organisationId, reference),
    findPartial: (reference) => promptPartials.findByIdOrSlug(db, organisationId, reference),
    findVersion: (of, version) => promptVersions.find(db, of, version),
  };
}

/** Maximum number of partials of one prompt, including nested ones. */
const partialsMax = 100;

/** `reference` is an id or slug, optionally followed by `@` and a version; the default is the published one. */
export async function findRenderable(
  source: PromptSource,
  reference: string,
): Promise<RenderablePrompt | undefined> {
  const [name, version] = splitReference(reference);
  const row = await source.findPrompt(name);
  if (row === undefined) return undefined;
  const text = version === undefined ? row : await source.findVersion(row, version);
  if (text === undefined) return undefined;
  const content = JSON.parse(text.content) as PromptContent;
  const template = new PromptTemplate(content);
  const partials = await readPartials(source, row, template.partials);
  return { slug: row.slug, workspaceId: row.workspace_id, content, template, partials };
}

async function readPartials(
  source: PromptSource,
  of: OwnedPromptRow,
  names: readonly string[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const pending = [...names];
  const seen = new Set(names);
  while (pending.length > 0 && found.size < partialsMax) {
    const name = pending.shift()!;
    const text = await readPartial(source, of, name);
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
  source: PromptSource,
  of: OwnedPromptRow,
  reference: string,
): Promise<string | undefined> {
  const [name, version] = splitReference(reference);
  const row = await source.findPartial(name);
  const isUsable =
    row !== undefined &&
    row.status === 'active' &&
    [null, of.workspace_id].includes(row.workspace_id);
  if (!isUsable) return undefined;
  const text = version === undefined ? row : await source.findVersion(row, version);
  return text && (JSON.parse(text.content) as PartialContent).string;
}
