/** Tests the reports of plans and outcomes: text, colour, Markdown, JSON, and the table by kind. */
import { describe, expect, it } from 'vitest';
import type { AppliedItem, ApplyReport } from '../../../../src/sync/apply/apply.ts';
import type { Plan } from '../../../../src/sync/plan/plan-model.ts';
import { planDocument } from '../../../../src/sync/report/document.ts';
import { markdownReport } from '../../../../src/sync/report/markdown.ts';
import { countsByKind, type ReportableCycle } from '../../../../src/sync/report/summary.ts';
import { textReport } from '../../../../src/sync/report/text.ts';
import { forTerminal } from '../../../../src/terminal-text.ts';
import { ModelServer, setOf, want } from '../../../support/sync/sync-model.ts';

const key = (fields = {}) =>
  want('ApiKey', 'support/bot', {
    type: 'workspace',
    sub_type: 'service',
    scopes: ['logs.view'],
    ...fields,
  });

function resultOf(plan: Plan, parts: Partial<ReportableCycle> = {}): ReportableCycle {
  return { plan, report: null, declined: false, refusal: null, warnings: [], ...parts };
}

function plain(result: ReportableCycle): string {
  return forTerminal(textReport(result), { color: false });
}

function mixedPlan(): Plan {
  const server = new ModelServer();
  const before = [
    want('Workspace', 'support'),
    want('Config', 'support/old', { config: {} }),
    key({ description: 'a', alert_emails: ['x@example.com'] }),
  ];
  server.apply(server.plan(setOf(before)));
  server.find('ApiKey/support/bot').spec.description = 'by hand';
  return server.plan(
    setOf([
      want('Workspace', 'support'),
      key({ description: 'a' }),
      want('Guardrail', 'support/new', { checks: [] }),
    ]),
  );
}

describe('textReport', () => {
  it('shows symbol, identity, position, old and new value of each field, and a summary', () => {
    expect(plain(resultOf(mixedPlan()))).toBe(`\
~ update ApiKey/support/bot  drift, ApiKey.yaml:1:1
    - spec.alertEmails[0]: "x@example.com"  (goes back to nobody)
    ~ spec.description: "by hand" → "a"  (drift)
+ create Guardrail/support/new  Guardrail.yaml:1:1
    + spec.name: "new"
    + metadata.workspace: Workspace/support
- delete Config/support/old  left the source, last in /src Config.yaml:1

Plan: 1 to create, 1 to update, 1 to delete; 1 unchanged.
`);
  });

  it('colours only on request', () => {
    expect(forTerminal(textReport(resultOf(mixedPlan())), { color: true })).toContain(
      '\u001b[32m+ create',
    );
    expect(plain(resultOf(mixedPlan()))).not.toContain('\u001b');
  });

  it('escapes every control character of a name or value', () => {
    const server = new ModelServer();
    const plan = server.plan(
      setOf([want('Workspace', 'w', { description: 'a\u001b[2Jb\u009bc\u202ed' })]),
    );
    const text = plain(resultOf(plan, { warnings: ['w\u001b[31m'] }));
    expect(text).not.toMatch(/[\u001b\u009b\u202e]/);
  });

  it('cuts long values', () => {
    const server = new ModelServer();
    const plan = server.plan(setOf([want('Workspace', 'w', { description: 'x'.repeat(9999) })]));
    expect(plain(resultOf(plan)).length).toBeLessThan(500);
  });

  it('shows failures with their position, and what was not tried', () => {
    const plan = mixedPlan();
    const item = (at: number, status: AppliedItem['status'], message: string | null) => {
      const { id, action, identity, position } = plan.changes[at]!;
      return { id, action, kind: identity.kind, status, message, position, resourceId: null };
    };
    const report: ApplyReport = {
      items: [item(0, 'failed', 'refused'), item(1, 'done', null), item(2, 'blocked', 'waits')],
      interrupted: true,
      unreachable: null,
    };
    const text = plain(resultOf(plan, { report }));
    expect(text).toContain('failed: ApiKey.yaml:1:1: update ApiKey/support/bot: refused');
    expect(text).toContain('blocked: delete Config/support/old: waits');
    expect(text).toContain('Applied: 1 created, 1 failed, 1 blocked; 1 unchanged. Interrupted');
    expect(countsByKind({ plan, report })).toEqual([
      { kind: 'ApiKey', created: 0, changed: 0, deleted: 0, undone: 1 },
      { kind: 'Guardrail', created: 1, changed: 0, deleted: 0, undone: 0 },
      { kind: 'Config', created: 0, changed: 0, deleted: 0, undone: 1 },
    ]);
  });
});

describe('markdownReport', () => {
  it('keeps fenced blocks closed for any value, with all untrusted text inside', () => {
    const server = new ModelServer();
    const desired = setOf([want('Workspace', 'w', { description: '```\n# x' })]);
    const text = markdownReport(resultOf(server.plan(desired), { warnings: ['<b> | `x`'] }));
    expect(text).toContain('````diff');
    expect(text).toContain('```text\nwarning: <b> | `x`\n```\n');
  });
});

describe('markdownReport of a large plan', () => {
  const workspaces = (count: number, description: string) =>
    setOf(Array.from({ length: count }, (_, at) => want('Workspace', `w${at}`, { description })));

  it.each([
    ['many small changes', 4000, 'x'],
    ['many long lines', 600, '`'.repeat(5000)],
    ['texts of many lines', 12, '한 ```\n</details>@team\n'.repeat(3000)],
    ['one change of escaped characters only', 1, '\u200b'.repeat(90_000)],
  ])('stays below 60 kB with %s, and states how many changes are missing', (_, count, text) => {
    const server = new ModelServer();
    const plan = server.plan(workspaces(count, text));
    const warnings = Array.from({ length: 500 }, () => `w ${text.slice(0, 500)}`);
    const markdown = markdownReport(resultOf(plan, { warnings }));
    expect(Buffer.byteLength(markdown)).toBeLessThan(60_000);
    const displayed = markdown.match(/^@@ create Workspace/gm)?.length ?? 0;
    expect(displayed).toBeGreaterThan(0);
    const missing = /\*\*(\d+) of \d+ changes are not shown here/.exec(markdown)?.[1] ?? '0';
    expect(Number(missing)).toBe(count - displayed);
    expect(markdown).toMatch(/^### gatewright: Plan: \d+ to create/);
    const outside: string[] = [];
    let fence = '';
    for (const line of markdown.split('\n')) {
      const [run = ''] = /^ {0,3}`{3,}/.exec(line) ?? [];
      if (fence === '') {
        outside.push(line);
        fence = run;
      } else if (run.length >= fence.length && line.trim() === run.trim()) fence = '';
    }
    expect(fence).toBe('');
    expect(outside.filter((line) => /^(`{3,}(text|diff)|<\/?details>.*)$/.test(line))).toHaveLength(
      4,
    );
    expect(outside.join()).not.toContain('@team');
  });

  it('leaves out loosening and deleting changes last', () => {
    const server = new ModelServer();
    const guardrail = want('Guardrail', 'g', { checks: [{ id: 'a' }] });
    server.apply(server.plan(setOf([guardrail])));
    const markdown = markdownReport(resultOf(server.plan(workspaces(4000, 'x'))));
    expect(markdown).toMatch(/^@@ delete Guardrail\/g @@ .*! loosens$/m);
  });
});

describe('values', () => {
  const textOf = (before: string, after: string): string => {
    const server = new ModelServer();
    server.apply(server.plan(setOf([want('Workspace', 'w', { description: before })])));
    return plain(resultOf(server.plan(setOf([want('Workspace', 'w', { description: after })]))));
  };

  it.each([
    ['with different ends', 'x'.repeat(9999), `${'x'.repeat(9998)}y`],
    ['of different lengths', 'x'.repeat(9999), 'x'.repeat(10_000)],
    ['with an invisible character', 'ab', 'a\u200bb'],
    ['with similar characters', '\u00e9', 'e\u0301'],
    [
      'with similar characters long before the difference',
      `\u00e9${'x'.repeat(999)}1`,
      `e\u0301${'x'.repeat(999)}2`,
    ],
    ['with different spaces', 'a b', 'a\u00a0b'],
    ['of escaped characters only', '\u200b'.repeat(999), `${'\u200b'.repeat(500)}\u200c`],
    ['with half a character', 'a\ud83d', 'a\ud83c'],
    ['with control characters', 'a\u001b', 'a\u009b'],
    ['with different line ends', 'a\nb', 'a\r\nb'],
  ])('distinguishes values %s', (_, before, after) => {
    const [, from, to] = / spec\.description.*: (".*) → (".*)$/m.exec(textOf(before, after)) ?? [];
    expect(from).toBeDefined();
    const forEyes = (text = ''): string => text.normalize('NFKD').replaceAll(/\p{M}/gu, '');
    expect(forEyes(from)).not.toBe(forEyes(to));
    expect(`${from}${to}`).toMatch(/^[\x20-\x7e…]*$/);
  });

  it.each([
    ['in one place', `1${'b'.repeat(500)}`, '1001 characters'],
    [
      'in another place',
      `1${'b'.repeat(400)}c${'b'.repeat(99)}`,
      '1001 characters, last difference at 902',
    ],
    ['to the end', `1${'b'.repeat(499)}cd`, '1002 characters, last difference at 1002'],
  ])('states that values too long to show differ %s', (_, end, reported) => {
    const start = 'a'.repeat(500);
    expect(textOf(`${start}0${'b'.repeat(500)}`, start + end)).toContain(`…" (${reported})\n`);
  });

  it('prints values of any script unchanged', () => {
    expect(textOf('한국', '한국어')).toContain('~ spec.description: "한국" → "한국어"');
  });

  it('hides values that may be credentials', () => {
    const server = new ModelServer();
    const config = (targets: object[]) =>
      want('Config', 'c', { config: { targets: targets as never[] } });
    server.apply(server.plan(setOf([config([{ provider: 'a' }])])));
    server.find('Config/c').spec.config = {
      targets: [{ provider: 'a', api_key: 'canary-1', aws_secret_access_key: 'canary-2' }],
    };
    const result = resultOf(server.plan(setOf([config([{ provider: 'a' }])])));
    const forms = [
      plain(result),
      markdownReport(result),
      JSON.stringify(planDocument(result.plan, [])),
    ];
    for (const form of forms) {
      expect(form).not.toContain('canary');
      expect(form).toContain('config.targets[0].api_key');
    }
    expect(forms[0]).toContain('- spec.config.targets[0].api_key: (secret server)  (drift)\n');
  });
});

describe('planDocument', () => {
  it('has the published form', () => {
    const document = JSON.parse(JSON.stringify(planDocument(mixedPlan(), ['w'])));
    expect(document).toMatchObject({
      formatVersion: 1,
      engine: 'gatewright',
      owner: 'platform',
      source: { repo: '/src', sha: null },
      summary: { create: 1, update: 1, delete: 1, replace: 0, noop: 1, blocked: 0 },
      blocked: [],
      unmanaged: [],
      unknown: [],
      leftAlone: { ignored: [], otherEnvironments: [], foreignFiles: [], foreignDocuments: [] },
      warnings: ['w'],
    });
    expect(document.changes[0]).toEqual({
      id: 'ApiKey/support/bot',
      action: 'update',
      kind: 'ApiKey',
      workspace: 'support',
      name: 'bot',
      resourceId: 'id-2',
      ifMatch: 1,
      dependsOn: [],
      reason: 'drift',
      loosens: false,
      ends: [],
      impact: null,
      fields: [
        {
          path: '/alert_emails',
          yamlPath: 'spec.alertEmails',
          livePath: '/alert_emails',
          difference: 'removed',
          from: ['x@example.com'],
          to: null,
          goesBackTo: 'nobody',
          secret: false,
          reason: 'default-reset',
          loosens: false,
        },
        {
          path: '/description',
          yamlPath: 'spec.description',
          livePath: '/description',
          difference: 'changed',
          from: 'by hand',
          to: 'a',
          secret: false,
          reason: 'drift',
          loosens: false,
        },
      ],
      position: { file: 'ApiKey.yaml', line: 1, column: 1 },
    });
  });
});
