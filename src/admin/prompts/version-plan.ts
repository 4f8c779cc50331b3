/** Knows what an update makes of the versions of a prompt or partial: another one, a correction, or nothing. */
import { isDeepStrictEqual } from 'node:util';
import { authorise } from '../../auth/authenticate.ts';
import { newId } from '../../model/wire/ids.ts';
import type { Db } from '../../store/connection/db.ts';
import * as promptVersions from '../../store/prompts/prompt-versions.ts';
import type { AdminRequest } from '../request/deps.ts';

/** A prompt or partial as stored: what it says is that of its published version. */
interface Published {
  readonly id: string;
  readonly organisation_id: string;
  readonly name: string;
  readonly content: string;
  readonly version_id: string;
  readonly version_number: number;
}

/** How the contents of one kind change. */
interface ContentRules<Content> {
  /** What comes of a content by what was sent. @throws ApiError for what is no content. */
  readonly next: (before: Content) => Content;
  /** Whether one version could stand for both. */
  readonly saysTheSame: (one: Content, other: Content) => boolean;
  /** What the published version has of a correction that was made to the latest. */
  readonly corrected: (published: Content, by: Content) => Content;
}

export interface VersionPlan {
  /** What changes of the prompt or partial itself. */
  readonly columns: Partial<Pick<Published, 'content' | 'version_id' | 'version_number'>>;
  /** The version that says what was sent. */
  readonly versionId: string;
  /** Writes what changes beside that, and yields names for it. */
  readonly follow: (tx: Db, row: Published) => Promise<readonly string[]>;
}

/**
 * What was sent is held against the latest version; what a manifest says, against the published one,
 * because a manifest says what is to be in use: its new version is published at once.
 */
export async function planVersions<Content>(
  tx: Db,
  request: Pick<AdminRequest, 'caller' | 'now'> & {
    readonly body: { readonly managed_by?: unknown };
  },
  row: Published,
  rules: ContentRules<Content>,
): Promise<VersionPlan> {
  const publishes = request.body.managed_by !== undefined;
  const latest = (await promptVersions.findLatest(tx, row))!;
  const published = {
    ...{ number: row.version_number, id: row.version_id },
    content: JSON.parse(row.content) as Content,
  };
  const base = publishes
    ? published
    : { ...latest, content: JSON.parse(latest.content) as Content };
  const next = rules.next(base.content);
  if (rules.saysTheSame(base.content, next)) {
    const corrections = new Map([
      [row.version_number, [published.content, rules.corrected(published.content, next)] as const],
      [base.number, [base.content, next] as const],
    ]);
    return correction(row, base.id, corrections);
  }
  if (publishes) authorise(request.caller, 'prompts.publish');
  const made = { id: newId(), content: JSON.stringify(next) };
  const columns = { content: made.content, version_id: made.id, version_number: latest.number + 1 };
  return {
    columns: publishes ? columns : {},
    versionId: made.id,
    follow: async (db, before) => {
      const { caller, now } = request;
      const version = { ...made, name: before.name, created_by: caller.id, created_at: now };
      await promptVersions.insertVersion(db, before, version);
      return publishes ? [] : ['content'];
    },
  };
}

/** By number, what versions say and what they are to say. */
function correction(
  row: Published,
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
