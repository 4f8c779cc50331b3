/** Decides whether an update of a prompt or partial creates a version, corrects one, or changes nothing. */
import { isDeepStrictEqual } from 'node:util';
import { authorise } from '../../auth/authenticate.ts';
import { newId } from '../../model/wire/ids.ts';
import type { Db } from '../../store/connection/db.ts';
import * as promptVersions from '../../store/prompts/prompt-versions.ts';
import type { AdminRequest } from '../request/deps.ts';

/** A stored prompt or partial; its content is that of the published version. */
interface PublishedResource {
  readonly id: string;
  readonly organisation_id: string;
  readonly name: string;
  readonly content: string;
  readonly version_id: string;
  readonly version_number: number;
}

/** How contents of one kind are merged and compared. */
interface ContentRules<Content> {
  /** Merges the sent fields into a content. @throws ApiError for an invalid content */
  readonly next: (before: Content) => Content;
  /** Whether both contents can be one version. */
  readonly isSame: (one: Content, other: Content) => boolean;
  /** Applies a correction of the latest version to the published one. */
  readonly corrected: (published: Content, by: Content) => Content;
}

export interface VersionPlan {
  /** Changed columns of the prompt or partial itself. */
  readonly columns: Partial<Pick<PublishedResource, 'content' | 'version_id' | 'version_number'>>;
  /** The version that has the sent content. */
  readonly versionId: string;
  /** Writes changes to other tables and returns names for the audit row. */
  readonly follow: (tx: Db, row: PublishedResource) => Promise<readonly string[]>;
}

/**
 * Clients' fields are merged into the latest version. A manifest's fields are merged into the published
 * version, because a manifest declares what is in use; its new version is published at once.
 */
export async function planVersions<Content>(
  tx: Db,
  request: Pick<AdminRequest, 'caller' | 'now'> & {
    readonly body: { readonly managed_by?: unknown };
  },
  row: PublishedResource,
  rules: ContentRules<Content>,
): Promise<VersionPlan> {
  const publishes = request.body.managed_by !== undefined;
  const latest = (await promptVersions.findLatest(tx, row))!;
  const published = {
    number: row.version_number,
    id: row.version_id,
    content: JSON.parse(row.content) as Content,
  };
  const base = publishes
    ? published
    : { ...latest, content: JSON.parse(latest.content) as Content };
  const next = rules.next(base.content);
  if (rules.isSame(base.content, next)) {
    const corrections = new Map([
      [row.version_number, [published.content, rules.corrected(published.content, next)] as const],
      [base.number, [base.content, next] as const],
    ]);
    return correction(row, base.id, corrections);
  }
  if (publishes) authorise(request.caller, 'prompts.publish');
  const version = { id: newId(), content: JSON.stringify(next) };
  const columns = {
    content: version.content,
    version_id: version.id,
    version_number: latest.number + 1,
  };
  return {
    columns: publishes ? columns : {},
    versionId: version.id,
    follow: async (db, before) => {
      const { caller, now } = request;
      const row = { ...version, name: before.name, created_by: caller.id, created_at: now };
      await promptVersions.insertVersion(db, before, row);
      return publishes ? [] : ['content'];
    },
  };
}

/** Current and new contents by version number. */
function correction(
  row: PublishedResource,
  versionId: string,
  contents: ReadonlyMap<number, readonly [unknown, unknown]>,
): VersionPlan {
  const changed = [...contents].filter(([, [before, after]]) => !isDeepStrictEqual(before, after));
  const texts = new Map(changed.map(([number, [, after]]) => [number, JSON.stringify(after)]));
  const content = texts.get(row.version_number);
  return {
    columns: content === undefined ? {} : { content },
    versionId,
    follow: async (tx, before) => {
      for (const [number, text] of texts) {
        await promptVersions.updateContent(tx, before, number, text);
      }
      return content === undefined && texts.size > 0 ? ['content'] : [];
    },
  };
}
