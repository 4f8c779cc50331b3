/**
 * Verifies that budget alerts reach the recipients of a key and of the deployment through a real
 * mail server, and how failures are handled.
 */
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { SMTPServer } from 'smtp-server';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { createMailer } from '../../../src/jobs/runner/mailer.ts';
import { sendAlerts } from '../../../src/jobs/send-alerts.ts';
import { idToBytes } from '../../../src/model/wire/ids.ts';
import { Secret } from '../../../src/secret.ts';
import type { MailSettings } from '../../../src/settings/groups/mail.ts';
import * as usageAlerts from '../../../src/store/usage/usage-alerts.ts';
import { createPki } from '../../support/callers/pki.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { apiKeyRow, insertApiKeys } from '../../support/rows/api-key-row.ts';
import { jobContext } from '../../support/server/job-context.ts';

interface ReceivedMail {
  readonly to: readonly string[];
  readonly text: string;
  readonly isSecure: boolean;
  readonly user: string | undefined;
}

/**
 * A certificate that is trusted only with its authority, which a process of the product gets from
 * NODE_EXTRA_CA_CERTS.
 */
const pki = createPki();
const authority = pki.authority('of mail');
const publicAuthorities = getCACertificates('default');
const named = authority.issue({ name: 'mail', altNames: 'DNS:localhost' });

let test: TestDatabase;
let secure: SMTPServer;
let smtp: SMTPServer;
let mail: MailSettings;
let received: ReceivedMail[] = [];
/** The response of the server to the next mails. */
let refusal: Error | null = null;
const organisationId = randomUUID();
const noon = Date.UTC(2027, 0, 4, 12);

beforeAll(async () => {
  smtp = openServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    authOptional: true,
  });
  secure = openServer({ cert: named.cert, key: named.key });
  for (const server of [smtp, secure]) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  }
  mail = {
    host: '127.0.0.1',
    port: portOf(smtp),
    tls: 'none',
    user: null,
    password: undefined,
    from: 'Gateway <gateway@example.com>',
  };
});

const portOf = ({ server }: SMTPServer): number => (server.address() as AddressInfo).port;

function openServer(options: Readonly<Record<string, unknown>>): SMTPServer {
  const server = new SMTPServer({
    ...options,
    logger: false,
    onAuth: ({ username = '', password }, _, done) =>
      done(password === 'right' ? null : new Error('wrong'), { user: username }),
    onData: (stream, session, done) => {
      void text(stream).then((text) => {
        const to = session.envelope.rcptTo.map(({ address }) => address);
        const mail = { to, text, isSecure: session.secure, user: session.user };
        if (refusal === null) received.push(mail);
        done(refusal);
      });
    },
  });
  // Errors of connections that clients abort.
  server.on('error', () => undefined);
  return server;
}

beforeEach(async () => {
  test = await createTestDatabase();
  received = [];
  refusal = null;
});

afterEach(async () => {
  setDefaultCACertificates(publicAuthorities);
  await test[Symbol.asyncDispose]();
});
afterAll(async () => {
  for (const server of [smtp, secure]) {
    await new Promise<void>((resolve) => server.close(resolve));
  }
  pki[Symbol.dispose]();
});

/** Inserts an alert about a new key. */
async function insertAlert(fields: Partial<usageAlerts.NewUsageAlert> = {}, emails: string[] = []) {
  const id = randomUUID();
  const row = { id, organisation_id: organisationId, alert_emails: JSON.stringify(emails) };
  await insertApiKeys(test.database.db, [apiKeyRow(row)]);
  const alert: usageAlerts.NewUsageAlert = {
    organisation_id: organisationId,
    subject_kind: 'api_key',
    subject_id: idToBytes(id),
    window_start: Date.UTC(2027, 0, 4),
    counter_id: idToBytes(id),
    kind: 'threshold',
    limit_units: 80_500_000,
    used_units: 81_000_000,
    type: 'cost',
    label: 'API key ci',
    value_key: '',
    created_at: noon,
    ...fields,
  };
  // A duplicate: it is found twice and sent once.
  await usageAlerts.insertMany(test.database.db, [alert]);
  await usageAlerts.insertMany(test.database.db, [alert]);
}

const stored = () =>
  test.database.db
    .selectFrom('usage_alerts')
    .select(['state', 'attempts', 'due_at', 'sent_at', 'last_error'])
    .execute();

function run(now: number, options: { recipients?: string[]; settings?: MailSettings | null } = {}) {
  const { recipients = [], settings = mail } = options;
  const sendMail = settings && createMailer(settings);
  return sendAlerts({ sendMail, recipients }).run(jobContext(test.database, now));
}

it('sends an alert once to the recipients of the key and the deployment, with any number of concurrent runs', async () => {
  await insertAlert({}, ['ci@example.com', 'ops@example.com']);
  const recipients = ['ops@example.com'];
  const counts = await Promise.all([1, 2, 3].map(() => run(noon, { recipients })));
  expect(counts.reduce((sum, { sent }) => sum + sent!, 0)).toBe(1);
  expect(await run(noon + 86_400_000, { recipients })).toMatchObject({ sent: 0 });
  expect(received).toHaveLength(1);
  expect(received[0]!.to).toEqual(['ci@example.com', 'ops@example.com']);
  const { text: whole } = received[0]!;
  expect(whole).toContain('Subject: [gatewright] API key ci has reached its alert threshold');
  expect(whole).toContain('From: Gateway <gateway@example.com>');
  expect(whole).toContain('alert threshold: 80.5 US dollars');
  expect(whole).toContain('used: 81 US dollars');
  expect(whole).toContain('since: 2027-01-04T00:00:00.000Z');
  expect(await stored()).toMatchObject([{ state: 'sent', sent_at: noon, last_error: null }]);
});

it('retries a rejected mail later under the same Message-ID', async () => {
  await insertAlert({ kind: 'exhausted' }, ['ci@example.com']);
  refusal = Object.assign(new Error('later'), { responseCode: 451 });
  expect(await run(noon)).toMatchObject({ sent: 0, postponed: 1 });
  const [waiting] = await stored();
  expect(waiting).toMatchObject({ state: 'waiting', attempts: 1, due_at: noon + 60_000 });
  expect(waiting!.last_error).toContain('later');
  expect(await run(noon + 59_999)).toMatchObject({ sent: 0, postponed: 0 });
  refusal = null;
  expect(await run(noon + 60_000)).toMatchObject({ sent: 1 });
  await test.database.db.updateTable('usage_alerts').set({ state: 'waiting' }).execute();
  expect(await run(noon + 120_000)).toMatchObject({ sent: 1 });
  const ids = received.map(
    ({ text }) => /^Message-ID: <[0-9a-f]{32}@example\.com>/m.exec(text)?.[0],
  );
  expect(ids[0]).toBeDefined();
  expect(ids[1]).toBe(ids[0]);
  expect(received[0]!.text).toContain('has reached its limit');
});

it('gives up after a day of rejections, and reports that in the run', async () => {
  await insertAlert({}, ['ci@example.com']);
  refusal = new Error('never');
  let at = noon;
  for (let tries = 1; tries < 28; tries += 1) {
    expect(await run(at)).toMatchObject({ postponed: 1 });
    at = (await stored())[0]!.due_at;
  }
  expect(at - noon).toBeGreaterThan(22 * 3_600_000);
  await expect(run(at)).rejects.toThrow(
    'API key ci has reached its alert threshold could not be processed',
  );
  expect(await stored()).toMatchObject([{ state: 'failed', attempts: 28, sent_at: null }]);
  expect(await run(at + 86_400_000)).toMatchObject({ sent: 0, postponed: 0 });
});

it('marks an alert without recipients, and deletes all alerts after 90 days', async () => {
  await insertAlert();
  expect(await run(noon)).toMatchObject({ unaddressed: 1 });
  await insertAlert({}, ['ci@example.com']);
  expect(await run(noon, { settings: null })).toMatchObject({ unaddressed: 1 });
  const reasons = (await stored()).map(({ state, last_error }) => `${state}: ${last_error}`);
  expect(reasons.sort()).toEqual([
    'unaddressed: SMTP_HOST is not set',
    'unaddressed: there are no recipients',
  ]);
  expect(await run(noon + 90 * 86_400_000)).toMatchObject({ deleted: 0 });
  expect(await run(noon + 90 * 86_400_000 + 1)).toMatchObject({ deleted: 2 });
  expect(await stored()).toEqual([]);
});

it('sends no mail without encryption unless it is disabled, and none when authentication fails', async () => {
  await insertAlert({ label: 'API key x\r\nBcc: spy@example.com' }, ['ci@example.com']);
  expect(await run(noon, { settings: { ...mail, tls: 'starttls' } })).toMatchObject({ sent: 0 });
  const account = (password: string) => ({ user: 'gw', password: new Secret(password, 'test') });
  const wrong = { ...mail, ...account('wrong') };
  expect(await run(noon + 3_600_000, { settings: wrong })).toMatchObject({ sent: 0 });
  expect(JSON.stringify(await stored())).not.toContain('wrong@');
  const right = { ...mail, ...account('right') };
  expect(await run(noon + 7_200_000, { settings: right })).toMatchObject({ sent: 1 });
  expect(received).toMatchObject([{ user: 'gw', to: ['ci@example.com'] }]);
  expect(received[0]!.text).not.toMatch(/^Bcc:/im);
});

it('sends mail and password over STARTTLS only to the server that its certificate names', async () => {
  await insertAlert({}, ['ci@example.com']);
  const settings: MailSettings = {
    ...mail,
    host: 'localhost',
    port: portOf(secure),
    tls: 'starttls',
    user: 'gw',
    password: new Secret('right', 'test'),
  };
  expect(await run(noon, { settings })).toMatchObject({ sent: 0 });
  expect((await stored())[0]!.last_error).toMatch(/certificate/);
  setDefaultCACertificates([...publicAuthorities, authority.cert]);
  const unnamed = { ...settings, host: '127.0.0.1' };
  expect(await run(noon + 3_600_000, { settings: unnamed })).toMatchObject({ sent: 0 });
  expect((await stored())[0]!.last_error).toMatch(/does not match/);
  expect(received).toEqual([]);
  expect(await run(noon + 7_200_000, { settings })).toMatchObject({ sent: 1 });
  expect(received).toMatchObject([{ isSecure: true, user: 'gw', to: ['ci@example.com'] }]);
});
