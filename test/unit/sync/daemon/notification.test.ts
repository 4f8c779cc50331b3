/** Tests notifications: each change of state once, signed, rate-limited, with harmless text. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SyncAnnouncements, SyncReport } from '../../../../src/model/kinds/sync-record.ts';
import { Secret } from '../../../../src/secret.ts';
import { readWebhook } from '../../../../src/sync/daemon/webhook.ts';
import { Announcer } from '../../../../src/sync/notify/announcer.ts';
import { Outbox } from '../../../../src/sync/notify/outbox.ts';
import { Post } from '../../../../src/sync/notify/post.ts';
import type { LoopStatus } from '../../../../src/sync/status/sync-state.ts';
import { type Receiver, startReceiver } from '../../../support/network/receiver.ts';
import { syncReport } from '../../../support/sync/sync-records.ts';

type State = SyncReport['state'];
type Workspaces = Readonly<Record<string, State>>;

const start = Date.UTC(2027, 0, 4, 8);
const minute = 60_000;
const key = 'a-secret-of-enough-length';
const path = '/hooks/token-in-the-path';

let receiver: Receiver;
let post: Post;
let now: number;
const clock = { now: () => now };
const opened: Outbox[] = [];

beforeEach(async () => {
  now = start;
  receiver = await startReceiver();
  post = new Post({ clock, agent: 'gatewright/test' });
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((outbox) => outbox.close()));
  await post[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

/** One process: its announcements, and the state that the server stores. */
function openAnnouncer(form: 'json' | 'slack' = 'json') {
  let arrived = Promise.withResolvers<void>();
  const outbox = new Outbox({ post, onOutcome: () => undefined, pause: async () => undefined });
  opened.push(outbox);
  const announcer = new Announcer({
    owner: 'team-a',
    clock,
    commitStatus: null,
    notification: {
      outbox,
      terms: { url: new URL(receiver.url + path), form, signingSecret: new Secret(key, 'test') },
    },
    onChange: () => arrived.resolve(),
  });
  return {
    announcer,
    /** Reports the state; returns what the server stores then. */
    note(
      state: State,
      {
        workspaces = {},
        before,
        isRetryPending = false,
        message = null,
      }: {
        workspaces?: Workspaces;
        before?: SyncAnnouncements | undefined;
        isRetryPending?: boolean;
        message?: string | null;
      } = {},
    ): SyncAnnouncements {
      const { next_look_at: _, ...report } = syncReport({
        state,
        message,
        workspaces: Object.entries(workspaces).map(([workspace, one]) => ({
          workspace,
          state: one,
          message: `of ${workspace}`,
          commit_applied: null,
          drift_count: 0,
        })),
      });
      const standing = {
        seen: null,
        place: null,
        result: null,
        isRetryPending,
      } as unknown as LoopStatus;
      const stored = announcer.prepare({ ...report, state }, { ...standing, state }, before);
      announcer.send();
      return stored;
    },
    /** Resolves once all queued notifications have arrived. */
    async settled(): Promise<void> {
      await arrived.promise;
      arrived = Promise.withResolvers<void>();
    },
  };
}

const reported = () =>
  receiver.received.map(({ body }) => {
    const inside = body.workspaces.map(
      (one: ReturnType<typeof JSON.parse>) =>
        ` ${one.workspace} ${one.previous_state}→${one.state}`,
    );
    return `${body.previous_state}→${body.state}${inside.join('')}`;
  });

describe('a change of state', () => {
  it('is sent once, however often it is seen, and once when it is over', async () => {
    const one = openAnnouncer();
    for (const _ of [1, 2, 3]) one.note('Synced');
    one.note('Degraded', { workspaces: { support: 'Degraded', sales: 'Synced' } });
    await one.settled();
    one.note('Degraded', { workspaces: { support: 'Degraded', sales: 'Synced' } });
    one.note('Synced', { workspaces: { support: 'Synced', sales: 'Synced' } });
    await one.settled();
    one.note('Synced');
    expect(reported()).toEqual([
      'Synced→Degraded support Synced→Degraded',
      'Degraded→Synced support Degraded→Synced',
    ]);
  });

  it('is sent for each workspace, also when the owner does not change, and for a removed one', async () => {
    const one = openAnnouncer();
    const steps: [State, Workspaces][] = [
      ['OutOfSync', { a: 'OutOfSync' }],
      ['OutOfSync', { a: 'OutOfSync', b: 'Suspended' }],
      ['Suspended', { b: 'Suspended' }],
      ['Synced', {}],
    ];
    for (const [state, workspaces] of steps) {
      one.note(state, { workspaces });
      await one.settled();
    }
    expect(reported()).toEqual([
      'Synced→OutOfSync a Synced→OutOfSync',
      'OutOfSync→OutOfSync b Synced→Suspended',
      'OutOfSync→Suspended a OutOfSync→Synced',
      'Suspended→Synced b Suspended→Synced',
    ]);
  });

  it('is not sent during a cycle, nor for a transient state before it has lasted a minute', async () => {
    const one = openAnnouncer();
    one.note('Progressing');
    const passing = { isRetryPending: true };
    one.note('Degraded', passing);
    now += minute - 1;
    one.note('Degraded', passing);
    one.note('Synced');
    one.note('Degraded', passing);
    now += minute;
    one.note('Degraded', passing);
    await one.settled();
    expect(reported()).toEqual(['Synced→Degraded']);
  });

  it('reports a flapping state four times at once, then every ten minutes at most, and finally the current state', async () => {
    let one = openAnnouncer();
    let stored: SyncAnnouncements | undefined;
    for (let second = 0; second < 3_600; second += 10) {
      now = start + second * 1000;
      // Restarts in between change nothing.
      if (second % 600 === 300) one = openAnnouncer();
      const state = second % 20 === 0 ? 'OutOfSync' : 'Synced';
      const before = stored?.notification?.delivery_id;
      stored = one.note(state, { before: stored });
      if (stored.notification !== null && stored.notification.delivery_id !== before) {
        await one.settled();
        stored = one.note(state, { before: stored });
      }
    }
    now += 600_000;
    one.note('Suspended');
    await one.settled();
    const words = reported();
    expect(words.length).toBeGreaterThan(4);
    expect(words.length).toBeLessThanOrEqual(4 + 6 + 1);
    expect(words.at(-1)).toMatch(/→Suspended$/);
    // Each notification continues from the previous one.
    const ends = words.map((word) => word.split('→'));
    expect(ends.slice(1).map(([from]) => from)).toEqual(ends.slice(0, -1).map(([, to]) => to));
  });
});

describe('a successor of a process', () => {
  it('repeats no notification, and sends what changed meanwhile', async () => {
    const first = openAnnouncer();
    first.note('Degraded', { workspaces: { a: 'Degraded' } });
    await first.settled();
    const stored = first.note('Degraded', { workspaces: { a: 'Degraded' } });
    expect(stored.notification).toMatchObject({ is_delivered: true, state: 'Degraded' });
    const second = openAnnouncer();
    second.note('Degraded', { workspaces: { a: 'Degraded' }, before: stored });
    second.note('Synced', { workspaces: {} });
    await second.settled();
    expect(reported()).toEqual([
      'Synced→Degraded a Synced→Degraded',
      'Degraded→Synced a Degraded→Synced',
    ]);
  });

  it('sends again under the same id what may not have been sent before the crash', async () => {
    const stored = openAnnouncer().note('Degraded', { workspaces: { a: 'Degraded' } });
    expect(stored.notification).toMatchObject({ is_delivered: false });
    const second = openAnnouncer();
    second.note('Degraded', { workspaces: { a: 'Degraded' }, before: stored });
    await second.settled();
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids)).toEqual(new Set([stored.notification!.delivery_id]));
    second.note('Degraded', { workspaces: { a: 'Degraded' } });
    expect(reported().at(-1)).toBe('null→Degraded a null→Degraded');
  });

  it('queries the last reported state again when it becomes leader again', async () => {
    const first = openAnnouncer();
    const stored = first.note('Degraded');
    await first.settled();
    first.announcer.forget();
    const reported = { ...stored.notification!, state: 'Synced' as const, is_delivered: true };
    const again = first.note('Synced', { before: { ...stored, notification: reported } });
    expect(again.notification).toEqual(reported);
    expect(receiver.received).toHaveLength(1);
  });

  it('sends nothing before the server has stored it', () => {
    const { announcer } = openAnnouncer();
    const { next_look_at: _, ...report } = syncReport({ state: 'OutOfSync' });
    announcer.prepare(report, { state: 'OutOfSync', seen: null } as LoopStatus, undefined);
    expect(receiver.received).toEqual([]);
  });
});

describe('a notification', () => {
  it('is JSON that Standard Webhooks can verify, with the time of each attempt', async () => {
    receiver.replies.push({ status: 503 });
    const one = openAnnouncer();
    const stored = one.note('OutOfSync', { workspaces: { a: 'OutOfSync' }, message: 'held' });
    await one.settled();
    expect(receiver.received).toHaveLength(2);
    const { headers, raw, body, path: requested } = receiver.received[1]!;
    const hint = readWebhook({ headers, body: Buffer.from(raw) }, new Secret(key, 'test'), [], now);
    expect(hint).toEqual({ form: 'standard', isDue: true });
    const tampered = { headers, body: Buffer.from(raw.replace('OutOfSync', 'Synced')) };
    expect(readWebhook(tampered, new Secret(key, 'test'), [], now)).toBeNull();
    expect(requested).toBe(path);
    expect(headers['webhook-timestamp']).toBe(String(start / 1000));
    expect(body).toEqual({
      id: stored.notification!.delivery_id,
      event: 'sync.state_changed',
      owner: 'team-a',
      state: 'OutOfSync',
      previous_state: 'Synced',
      message: 'held',
      error: null,
      source: '/srv/gateway',
      commit_seen: null,
      commit_applied: null,
      drift_count: 0,
      workspaces: [
        { workspace: 'a', state: 'OutOfSync', previous_state: 'Synced', message: 'of a' },
      ],
    });
  });

  it('is bounded text in Slack without mentions', async () => {
    const one = openAnnouncer('slack');
    const many = Object.fromEntries(
      Array.from({ length: 300 }, (_, n) => [`w${n}`, 'Degraded' as const]),
    );
    const message = `<!channel> @here & @Channel\n\u001b[31m${'x'.repeat(5_000)}`;
    one.note('Degraded', { workspaces: many, message });
    await one.settled();
    const { text, ...rest } = receiver.received[0]!.body;
    expect(rest).toEqual({});
    expect(text).toContain(
      '*gatewright team-a: Degraded, was Synced*: &lt;!channel&gt; @\u200bhere &amp; @\u200bChannel',
    );
    expect(text).toContain('• workspace w0: Degraded, was Synced: of w0\n');
    expect(text).toMatch(/\nand 280 more$/);
    expect(text).not.toMatch(/<|\u001b/);
    expect(text.length).toBeLessThan(8_000);
    expect(receiver.received[0]!.headers).not.toHaveProperty('webhook-signature');
  });
});
