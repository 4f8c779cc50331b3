/** Tests `.ci/run` and the end of a test run: the summary line, and how to repeat failures. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatewright-ci-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs `.ci/run` with a program in place of npm. */
function runCi(npm: string) {
  cpSync(join(root, '.ci'), join(folder, '.ci'), { recursive: true });
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/npm'), `#!/bin/sh\n${npm}\n`, { mode: 0o755 });
  const env = { PATH: `${join(folder, 'bin')}${delimiter}${process.env.PATH}` };
  const { status, stdout } = spawnSync(join(folder, '.ci/run'), { env, encoding: 'utf8' });
  return { status, last: stdout.trimEnd().split('\n').at(-1) };
}

it.each([
  ['all tests pass', 'echo; echo 7 passed, 0 failed', 0, '7 passed, 0 failed'],
  ['some fail', 'echo 7 passed, 2 failed, 1 skipped; exit 1', 1, '7 passed, 2 failed, 1 skipped'],
  [
    'something is said after the count',
    'echo 7 passed, 0 failed; echo bye >&2',
    0,
    '7 passed, 0 failed',
  ],
  ['the set-up fails', 'echo no registry >&2; exit 6', 6, '0 passed, 1 failed'],
  ['what follows the tests fails', 'echo 7 passed, 0 failed; exit 1', 1, '7 passed, 1 failed'],
  ['the runner is killed', 'kill -9 $$', 137, '0 passed, 1 failed'],
  [
    'it is told to end, as by a limit of time',
    'kill -TERM $PPID; exec sleep 600',
    143,
    '0 passed, 1 failed',
  ],
])('counts correctly in the last line when %s', (_, npm, status, last) => {
  expect(runCi(npm)).toEqual({ status, last });
});

it('does not wait for processes that the suites left running', () => {
  const left = join(folder, 'left');
  const ended = runCi(`sleep 600 & echo $! >'${left}'; echo 7 passed, 0 failed`);
  process.kill(Number(readFileSync(left, 'utf8')), 'SIGKILL');
  expect(ended).toEqual({ status: 0, last: '7 passed, 0 failed' });
});

it('names the command that repeats each failed file', () => {
  const write = (name: string, body: string) =>
    writeFileSync(
      join(folder, name),
      `import { expect, it } from 'vitest';\nit('${name}', () => { ${body} });\n`,
    );
  write('passes.test.ts', 'expect(1).toBe(1);');
  write('fails.test.ts', 'expect(1).toBe(2);');
  write('crashes.test.ts', "process.kill(process.pid, 'SIGKILL');");
  writeFileSync(join(folder, 'is-broken.test.ts'), 'throw new Error();');
  const reporter = `--reporter=${join(root, 'test/support/run/summary-reporter.ts')}`;
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', folder, reporter],
    { cwd: folder, env: { PATH: process.env.PATH, VITEST_MAX_WORKERS: '1' }, encoding: 'utf8' },
  );
  expect(status).toBe(1);
  expect(stdout.match(/npm test -- .*/g)?.toSorted()).toEqual([
    'npm test -- crashes.test.ts',
    'npm test -- fails.test.ts',
    'npm test -- is-broken.test.ts',
  ]);
  expect(stdout.match(/^failed: .*/gm)?.toSorted()).toEqual([
    expect.stringMatching(/^failed: beside the tests \(.+\)$/),
    'failed: crashes.test.ts: the file (it never ended)',
    'failed: fails.test.ts: fails.test.ts (expected 1 to be 2 // Object.is equality)',
    'failed: is-broken.test.ts: the file ()',
  ]);
  expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^1 passed, 3 failed/);
});

/** Runs one-line programs in place of suites. */
function runSuites(
  suites: readonly { name: string; code: string; usualMs?: number; missing?: string }[],
  totalMs: number,
) {
  const list = suites.map(({ code, ...suite }) => ({ usualMs: 0, ...suite, words: ['-e', code] }));
  const script = `import { runSuites } from ${JSON.stringify(join(root, 'scripts/suites.mjs'))};
    const options = { node: process.execPath, totalMs: ${totalMs} };
    const list = ${JSON.stringify(list)}.map(({ missing, ...suite }) =>
      missing === undefined ? suite : { ...suite, missing: () => { throw new Error(missing); } });
    process.exitCode = await runSuites(list, options);`;
  writeFileSync(join(folder, 'all.mjs'), script);
  const all = spawnSync(process.execPath, [join(folder, 'all.mjs')], { encoding: 'utf8' });
  return { status: all.status, lines: all.stdout.trimEnd().split('\n') };
}

it('sums all suites in the last line, whichever failed, was skipped or died', () => {
  const { status, lines } = runSuites(
    [
      { name: 'test', code: "console.log('5 passed, 0 failed\\nbye')" },
      {
        name: 'chart',
        code: "console.log('failed: pods (none)\\n3 passed, 2 failed, 1 skipped'); process.exitCode = 1",
      },
      {
        name: 'cluster',
        code: "console.log('skipped: keys (no cluster)\\n0 passed, 0 failed, 4 skipped')",
      },
      { name: 'containers', code: "console.log('1 passed, 0 failed'); process.exitCode = 1" },
      { name: 'engines', code: "process.kill(process.pid, 'SIGKILL')" },
      { name: 'later', code: '', usualMs: 1e9 },
      { name: 'never', code: '', missing: 'no wheel' },
    ],
    1e8,
  );
  expect(status).toBe(1);
  expect(lines.at(-1)).toBe('9 passed, 4 failed, 7 skipped');
  expect(lines).toContain('failed: pods (none)');
  expect(lines).toContain('skipped: keys (no cluster)');
  expect(lines).toContain('skipped: never: its requirements cannot be prepared (no wheel)');
  expect(lines).toContain('skipped: later: no time is left, of 1666 min 40 s');
});

it('starts the next suite although the previous one left a process running', () => {
  const left =
    "require('node:child_process').spawn('sleep', ['600'], { stdio: ['ignore', 'inherit', 'ignore'] })";
  const code = `console.log(String(${left}.pid)); console.log('2 passed, 0 failed'); process.exit()`;
  const { status, lines } = runSuites([{ name: 'test', code }], 1e8);
  process.kill(Number(lines.find((line) => /^\d+$/.test(line))), 'SIGKILL');
  expect({ status, last: lines.at(-1) }).toEqual({ status: 0, last: '2 passed, 0 failed' });
});

it('runs two suites at a time, and prints the output of each in one piece', () => {
  const file = JSON.stringify(join(folder, 'second-has-spoken'));
  const first = `console.log('first begins');
    const timer = setInterval(() => {
      if (!require('node:fs').existsSync(${file})) return;
      clearInterval(timer);
      console.log('first ends');
    }, 5);`;
  const second = `console.log('second');
    require('node:fs').writeFileSync(${file}, '');`;
  const { status, lines } = runSuites(
    [
      { name: 'first', code: first },
      { name: 'second', code: second },
    ],
    1e8,
  );
  const reported = ['first begins', 'first ends', 'second'];
  expect(status).toBe(0);
  expect(lines.filter((line) => reported.includes(line))).toEqual(reported);
});

it('prints nothing but the sum in the last line when every suite passes', () => {
  const code = "console.log('2 passed, 0 failed')";
  const { status, lines } = runSuites(
    [
      { name: 'test', code },
      { name: 'chart', code },
    ],
    1e8,
  );
  expect({ status, last: lines.at(-1) }).toEqual({ status: 0, last: '4 passed, 0 failed' });
});

it('stops a suite that exceeds the time, and counts it as failed', () => {
  const { status, lines } = runSuites([{ name: 'test', code: 'setInterval(() => {}, 1e9)' }], 50);
  expect({ status, last: lines.at(-1) }).toEqual({ status: 1, last: '0 passed, 1 failed' });
  expect(lines.at(-2)).toMatch(/^stopped: still running after /);
});
