/** Tests the SQL that table functions build from column values. */
import type { CompiledQuery } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { Db, Tables } from '../../../src/store/connection/db.ts';
import { buildOn } from '../../../src/store/connection/dialect.ts';
import type { PooledConnection } from '../../../src/store/connection/pooled-connection.ts';
import { atMost, moreThan, not, nullOr } from '../../../src/store/rows/predicate.ts';
import { rows } from '../../../src/store/rows/rows.ts';
import '../../../src/store/objects/files.ts';
import '../../../src/store/people/users.ts';

/** A database that records statements; every one returns the same rows. */
function recordingDatabase(found: unknown[] = []) {
  const sent: [sql: string, parameters: readonly unknown[]][] = [];
  const connection = {
    executeQuery: async ({ sql, parameters }: CompiledQuery) => {
      sent.push([sql.replaceAll('`', ''), parameters]);
      return { rows: found, numAffectedRows: 2n };
    },
    release: () => undefined,
  };
  const db = buildOn<Tables>(async () => connection as unknown as PooledConnection);
  return { db: db as Db, sent };
}

const files = rows('files');
const owner = { organisation_id: 'o', workspace_id: 'w' };

describe('rows', () => {
  it('finds by equality, null, lists and bounds', async () => {
    const { db, sent } = recordingDatabase([{ id: 'f' }]);
    expect(await files.find(db, { ...owner, id: 'f' })).toEqual({ id: 'f' });
    await files.list(db, { ...owner, expires_at: null });
    await files.list(db, { ...owner, id: ['a', 'b'], purpose: not('batch') });
    await files.list(db, { ...owner, expires_at: nullOr(moreThan(7)), bytes: atMost(9) });
    const where = 'select * from files where organisation_id = ? and workspace_id = ?';
    expect(sent).toEqual([
      [`${where} and id = ?`, ['o', 'w', 'f']],
      [`${where} and expires_at is null`, ['o', 'w']],
      [`${where} and id in (?) and purpose <> ?`, ['o', 'w', ['a', 'b'], 'batch']],
      [`${where} and (expires_at is null or expires_at > ?) and bytes <= ?`, ['o', 'w', 7, 9]],
    ]);
  });

  it('selects columns, orders, limits and locks', async () => {
    const { db, sent } = recordingDatabase();
    const options = { columns: ['id'], orderBy: ['created_at desc', 'id'], limit: 3 } as const;
    await files.list(db, owner, { ...options, lock: 'update' });
    expect(sent).toEqual([
      [
        'select id from files where organisation_id = ? and workspace_id = ? order by created_at desc, id asc limit ? for update',
        ['o', 'w', 3],
      ],
    ]);
  });

  it('returns the number of updated and deleted rows', async () => {
    const { db, sent } = recordingDatabase();
    expect(await files.update(db, { organisation_id: 'o', id: 'f' }, { name: 'n' })).toBe(2);
    expect(await files.delete(db, { organisation_id: 'o', id: 'f' })).toBe(2);
    expect(sent).toEqual([
      ['update files set name = ? where organisation_id = ? and id = ?', ['n', 'o', 'f']],
      ['delete from files where organisation_id = ? and id = ?', ['o', 'f']],
    ]);
  });

  it('increments the version of a versioned table', async () => {
    const { db, sent } = recordingDatabase();
    const users = rows('users', { isVersioned: true });
    await users.update(db, { organisation_id: 'o', id: 'u' }, { first_name: null });
    expect(sent[0]![0]).toBe(
      'update users set first_name = ?, version = version + 1 where organisation_id = ? and id = ?',
    );
  });

  it('sends no statement when a list is empty', async () => {
    const { db, sent } = recordingDatabase();
    const where = { organisation_id: 'o', id: [] };
    expect(await files.list(db, where)).toEqual([]);
    expect(await files.count(db, where)).toBe(0);
    expect(await files.update(db, where, { name: 'n' })).toBe(0);
    expect(await files.delete(db, where)).toBe(0);
    await files.insertMany(db, []);
    expect(sent).toEqual([]);
  });

  it('rejects an undefined value, which would match every row', async () => {
    const { db, sent } = recordingDatabase();
    const where = { organisation_id: 'o', id: undefined } as unknown as { organisation_id: string };
    await expect(files.delete(db, where)).rejects.toThrow('the condition on id is undefined');
    expect(sent).toEqual([]);
  });

  it('takes the values of named columns by position, and of a row by name', async () => {
    const { db, sent } = recordingDatabase();
    await files.findBy('organisation_id', 'id')(db, 'o', 'f');
    await files.deleteBy('organisation_id', 'id')(db, 'o', ['f', 'g']);
    await files.keyedBy('organisation_id', 'id').delete(db, {
      organisation_id: 'o',
      id: 'f',
      name: 'ignored',
    } as { organisation_id: string; id: string });
    expect(sent.map(([, parameters]) => parameters)).toEqual([
      ['o', 'f'],
      ['o', ['f', 'g']],
      ['o', 'f'],
    ]);
  });

  it('replaces a mark before each write', async () => {
    const { db } = recordingDatabase();
    const replaced: string[] = [];
    const marks = {
      replaceOne: (_: Db, organisationId: string) => replaced.push(organisationId),
      replaceForInsert: (_: Db, organisationId: string) =>
        replaced.push(`new in ${organisationId}`),
    };
    const marked = rows('files', { marks });
    await marked.update(db, { organisation_id: 'a', id: 'f' }, { name: 'n' });
    await marked.delete(db, { organisation_id: 'b', id: 'f' });
    await marked.delete(db, { organisation_id: 'c', id: [] });
    await marked.insert(db, { organisation_id: 'd', id: 'f' } as Parameters<
      typeof marked.insert
    >[1]);
    expect(replaced).toEqual(['a', 'b', 'new in d']);
  });
});
