/** Verifies what one poll for changes reads, and that each change counts once. */
import { describe, expect, it } from 'vitest';
import { ChangePoll } from '../../../../src/store/snapshot/change-poll.ts';
import type {
  ChangesReading,
  ChangesRequest,
  OrganisationChanges,
} from '../../../../src/store/snapshot/changes.ts';

const head = { etag: Buffer.alloc(32, 1), body: null, hasPending: false, now: 1_000 };

/** A poll of a database that answers with these organisations. */
function pollOf(organisations: Map<string, OrganisationChanges>) {
  const requests: ChangesRequest[] = [];
  const elapsed: number[] = [];
  const database = { now: 100_000, isAway: false, reads: 0 };
  const poll = new ChangePoll({
    now: () => 0,
    read: async (request): Promise<ChangesReading> => {
      requests.push(request);
      if (database.isAway) throw new Error('away');
      const { now } = database;
      return {
        now,
        organisations,
        head: request.head && head,
        hasLostRuns: false,
      };
    },
    readHead: async () => {
      database.reads += 1;
      return head;
    },
    onChange: (ms) => elapsed.push(Math.round(ms / 1_000)),
  });
  return { poll, requests, elapsed, database };
}

const idsOf = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `organisation ${at}`);

const heldOf = (ids: readonly string[]): Map<string, string> => new Map(ids.map((id) => [id, 'A']));

describe('a poll for changes', () => {
  it('checks all organisations of a process with few', async () => {
    const { poll, requests } = pollOf(new Map());
    for (let times = 0; times < 3; times += 1) await poll.listGenerations(heldOf(idsOf(100)));
    for (const request of requests) {
      expect(request.organisationIds).toHaveLength(100);
      expect(request.sinceMs).toBeNull();
    }
  });

  it('reads the changes since the last poll of a process with many, and checks some in turn', async () => {
    const { poll, requests } = pollOf(new Map());
    const all = idsOf(500);
    for (let times = 0; times < 6; times += 1) await poll.listGenerations(heldOf(all));
    const [first, ...others] = requests;
    expect(first).toMatchObject({ sinceMs: null, organisationIds: all });
    for (const request of others) {
      expect(request.sinceMs).toBe(100_000);
      expect(request.organisationIds).toHaveLength(128);
    }
    const checked = new Set(others.flatMap((request) => request.organisationIds));
    expect(checked.size).toBe(500);
  });

  it('reports generations of held organisations only, and of checked ones without marks', async () => {
    const changed = { generation: 'B', changes: [] };
    const { poll } = pollOf(
      new Map([
        ['one', changed],
        ['foreign', changed],
      ]),
    );
    const found = await poll.listGenerations(heldOf(['one', 'two']));
    expect([...found]).toEqual([
      ['one', 'B'],
      ['two', '0'],
    ]);
  });

  it('observes a change once, by the clock of the database', async () => {
    const organisations = new Map<string, OrganisationChanges>();
    const { poll, elapsed, database } = pollOf(organisations);
    const held = heldOf(['one']);
    const earlier = { slot: 1, changedAtMs: 99_000 };
    organisations.set('one', { generation: 'A', changes: [earlier] });
    await poll.listGenerations(held);
    expect(elapsed).toEqual([]);
    database.now = 105_000;
    const changes = [
      { slot: 1, changedAtMs: 103_000 },
      { slot: 2, changedAtMs: 101_000 },
    ];
    organisations.set('one', { generation: 'B', changes });
    for (let times = 0; times < 3; times += 1) await poll.listGenerations(held);
    expect(elapsed).toEqual([2, 4]);
  });

  it('observes the change between the first read of an organisation and its first poll', async () => {
    const changes = [
      { slot: 1, changedAtMs: 99_000 },
      { slot: 2, changedAtMs: 98_000 },
    ];
    const { poll, elapsed } = pollOf(new Map([['one', { generation: 'B', changes }]]));
    await poll.listGenerations(heldOf(['one']));
    expect(elapsed).toEqual([1]);
  });

  it('reads the head of the snapshot in the same statement', async () => {
    const { poll, requests, database } = pollOf(new Map());
    expect(await poll.readHead(null)).toBe(head);
    await poll.listGenerations(new Map());
    const known = Buffer.alloc(32, 2);
    const waiting = poll.readHead(known);
    await poll.listGenerations(new Map());
    expect(await waiting).toBe(head);
    expect(requests.map((request) => request.head?.known)).toEqual([undefined, known]);
    expect(database.reads).toBe(1);
  });

  it('fails what waits for the head with the poll, and answers it when the process stops', async () => {
    const { poll, database } = pollOf(new Map());
    await poll.listGenerations(new Map());
    database.isAway = true;
    const failed = poll.readHead(null);
    await expect(poll.listGenerations(new Map())).rejects.toThrow('away');
    await expect(failed).rejects.toThrow('away');
    const last = poll.readHead(null);
    poll.close();
    expect(await last).toBe(head);
    expect(await poll.readHead(null)).toBe(head);
  });

  it('knows of lost runs only what a poll has found', async () => {
    const { poll } = pollOf(new Map());
    expect(poll.mayHaveLostRuns()).toBe(true);
    await poll.listGenerations(new Map());
    expect(poll.mayHaveLostRuns()).toBe(false);
  });
});
