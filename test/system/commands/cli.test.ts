/** Tests the command line as a whole: help, mistyped input, exit codes, and lazily loaded code. */

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { commands } from '../../../src/commands/all-commands.ts';
import { runCommandLine } from '../../../src/commands/command-line.ts';
import { parseCommandLine } from '../../../src/commands/parsing/command-parser.ts';
import { commandGroups } from '../../../src/commands/parsing/overview.ts';
import { exitCodes } from '../../../src/commands/shared/exit-codes.ts';
import { describeSetting, type SettingName } from '../../../src/settings/variables/variables.ts';
import { spawnTestProcess } from '../../support/server/test-process.ts';
import { support } from '../../support/sync/manifests.ts';
import { loadedIn, runCli, sourceProgram, tellingLoads } from './run-cli.ts';

const root = resolve(import.meta.dirname, '../../..');
const main = resolve(root, 'src/main.ts');
const names = [...commands.keys()];

/** Files and packages that a command line loads. */
async function loadedBy(...words: string[]): Promise<string[]> {
  const { stderr } = await runCli(words, null, { env: tellingLoads, program: sourceProgram });
  return loadedIn(stderr);
}

/** Runs a command line without a process, for frequent calls. */
async function runInside(words: readonly string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const ending = await runCommandLine(words, {
    stdin: Readable.from([]),
    stdout,
    stderr,
    signal: new AbortController().signal,
    cwd: root,
  });
  return { ending, stdout: textOf(stdout), stderr: textOf(stderr) };
}

function textOf(stream: PassThrough): string {
  return stream.read()?.toString() ?? '';
}

describe('help', () => {
  it('shows every command with its summary, without arguments and with --help', async () => {
    const bare = await runCli([], null);
    const requested = await runCli(['--help'], null);
    expect(bare).toEqual(requested);
    expect(bare).toMatchObject({ exitCode: exitCodes.success, stderr: '' });
    for (const name of names) expect(bare.stdout).toMatch(new RegExp(`^  ${name}\\b.*  \\w`, 'm'));
  });

  it('lists every command in one group', () => {
    const grouped = Object.values(commandGroups).flat();
    expect(grouped.toSorted()).toEqual(names.toSorted());
  });

  it.each([
    ['--help', 'plan'],
    ['-h', 'plan'],
    ['plan', '-h'],
  ])('is found by %s %s', async (...words) => {
    expect(await runInside(words)).toEqual(await runInside(['help', 'plan']));
  });

  it.each(names)('lists options and worked examples for %s', async (name) => {
    const { ending, stdout, stderr } = await runInside(['help', name]);
    expect(ending).toBe('success');
    expect(stdout).toMatch(new RegExp(`^gatewright ${name}`));
    const examples = stdout.split('Examples:')[1]!;
    expect(examples.match(new RegExp(`gatewright ${name}`, 'g'))!.length).toBeGreaterThanOrEqual(2);
    expect(await runInside([name, '--help'])).toEqual({ ending, stdout, stderr });
  });

  it.each(names)(
    'contains only examples of %s that the command accepts unchanged',
    async (name) => {
      const { examples } = await commands.get(name)!.load();
      for (const [line] of examples) {
        const own = line.slice(line.indexOf(`gatewright ${name}`)).replace(/ >>? .*|\)$/, '');
        const [, ...words] = own.split(' ');
        expect(await parseCommandLine(words, commands), line).toMatchObject({ kind: 'command' });
      }
    },
  );

  it.each(names)('fits a terminal of 100 columns for %s', async (name) => {
    const wide = (await helpOf(name)).split('\n').filter((line) => line.length > 100);
    expect(wide).toEqual([]);
  });

  it.each(names)('shows the default of every option of %s that takes a value', async (name) => {
    const { options } = await commands.get(name)!.load();
    const silent = Object.entries(options)
      .filter(([, { form, fallback }]) => form === 'value' && fallback === undefined)
      .map(([option]) => option);
    expect(silent.filter((option) => option !== 'report')).toEqual([]);
  });
});

async function helpOf(name: string): Promise<string> {
  return (await runInside(['help', name])).stdout;
}

describe('defaults in help', () => {
  it('equals the settings that the options name', async () => {
    const helps = await Promise.all(names.map(helpOf));
    const defaults = helps.flatMap((help) => [
      ...help
        .replaceAll(/\s+/g, ' ')
        .matchAll(/default: ([A-Z_]+), else ([^\]]+?)(?: in the home)?\]/g),
    ]);
    expect(defaults.length).toBeGreaterThan(10);
    for (const [, setting, value] of defaults) {
      const { byDefault } = describeSetting(setting as SettingName);
      if (byDefault !== null) expect(`${setting} ${value}`).toBe(`${setting} ${byDefault}`);
    }
  });
});

describe('positional words', () => {
  const inFolder = { cwd: mkdtempSync(join(tmpdir(), 'gatewright-words-')) };

  it.each([
    ['after --', ['--', '--odd']],
    ['with options before --', ['-o', 'text', '--', '-odd']],
  ])('may begin with a dash %s', async (_, words) => {
    const { exitCode, stderr } = await runCli(['validate', ...words], null, inFolder);
    expect([exitCode, stderr]).toEqual([
      exitCodes.invalidInput,
      expect.stringContaining(words.at(-1)!),
    ]);
  });

  it('may be a lone dash, for standard input', async () => {
    const { exitCode, stdout } = await runCli(['validate', '-'], null, {
      ...inFolder,
      input: support,
    });
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('1 resource in 1 file')]);
  });
});

describe('a typing mistake', () => {
  it.each([
    [['plna'], 'unknown command "plna": did you mean "plan"?'],
    [['help', 'aply'], 'unknown command "aply": did you mean "apply"?'],
    [['--verison'], 'unknown option "--verison": did you mean "--version"?'],
    [['__proto__'], 'unknown command "__proto__" '],
    [['up', '--prot', '1'], 'unknown option "--prot": did you mean "--port"?'],
    [['plan', '--__proto__=x'], 'unknown option "--___proto___" '],
    [['plan', '-q'], 'unknown option "-q" '],
    [['apply', '-f', 'a.yaml'], 'unknown option "-f": files and folders are plain words'],
    [['apply', '--dry-run'], 'unknown option "--dry-run": `gatewright plan` shows changes'],
    [['plan', '-n', 'support'], 'unknown option "-n": a workspace is selected with --workspace'],
    [['get', 'Confg'], '<kind> takes a kind, not "Confg"; did you mean "Config"?'],
    [['describe', 'Config'], 'which resource? gatewright describe KIND NAME'],
    [['plan', '--home', 'a', '--hom', 'b'], 'unknown option "--hom" (see gatewright help plan)'],
    [['up', 'stray'], '"stray" is one word too many'],
    [['jobs', 'run', 'x', 'y'], '"y" is one word too many'],
    [['jobs'], '<action> is missing: list or run'],
    [['jobs', 'lst'], '<action> takes list, run, not "lst"; did you mean "list"?'],
    [['jobs', 'run'], 'which job? gatewright jobs run NAME'],
    [['jobs', 'list', 'expire-keys'], 'leave "expire-keys" out'],
    [['export'], '<path> is missing: folder for the files'],
    [['export', 'a', '--kind', 'Confg'], 'not "Confg"; did you mean "Config"?'],
    [['validate', ''], 'a word is empty'],
    ...['high', '-1', '70000', '80.5', '0x50', '1e3', 'NaN', '99999999999999999999'].map(
      (port) =>
        [
          ['up', '--port', port],
          `--port takes a whole number from 0 to 65535, not "${port}"; for example --port 8080`,
        ] as const,
    ),
    [['serve', '--port='], '--port needs a value: --port PORT'],
    [['serve', '--port'], '--port needs a value: --port PORT'],
    [
      ['plan', '--home', '--owner', 'x'],
      '--home needs a value: --home DIR; write --home=VALUE if it begins with a dash',
    ],
    [
      ['plan', '-o', 'jsn'],
      '--output takes text, wide, json, markdown, not "jsn"; did you mean "json"?',
    ],
    [['plan', '-o'], '--output needs a value: --output text|wide|json|markdown'],
    [['plan', '--valid-for', '2h'], '--valid-for is for a plan that is saved: add --out FILE'],
    [['plan', '--owner', 'a', '--owner', 'b'], '--owner is given twice'],
    [['apply', '--yes=maybe'], '--yes takes no value'],
    [['apply', '--allow-deletes', '-1'], '--allow-deletes takes a whole number from 0'],
    [['migrate', '--check', '--status'], '--check and --status exclude each other'],
    [['bootstrap', '--tsg-id', '12'], '--tsg-id takes 10 digits, such as 1234567890, not "12"'],
    [['bootstrap', '--name', 'A b'], '--name takes a name of 1 to 63'],
    [['bootstrap', '--url', 'gw.example.com'], '--url takes the address of a server'],
    [['settings', '-o', 'markdown', '--check'], '--check supports only -o text and'],
  ] as readonly (readonly [readonly string[], string])[])(
    'reports %j in one line with the correction, and does nothing',
    async (words, message) => {
      const { ending, stdout, stderr } = await runInside(words);
      expect(stderr).toContain(message);
      expect(stderr).toMatch(/^gatewright: [^\n]*\n$/);
      expect({ ending, stdout }).toEqual({ ending: 'invalidInput', stdout: '' });
    },
  );

  it('ends the process with 5', async () => {
    const { exitCode, stdout, stderr } = await runCli(['plan', '-o', 'yml'], null);
    expect({ exitCode, stdout }).toEqual({ exitCode: exitCodes.invalidInput, stdout: '' });
    expect(stderr).toMatch(/^gatewright: [^\n]*\n$/);
  });

  it('is repeated without terminal control characters', async () => {
    const hostile = 'a\u001b[2Jb\rc\nd\u009be\u202ef';
    for (const words of [
      [hostile],
      ['plan', `--${hostile}`],
      ['plan', '-o', hostile],
      ['up', hostile],
    ]) {
      const { stderr } = await runInside(words);
      expect(stderr).toMatch(/^gatewright: [^\n]*\n$/);
      expect(stderr).not.toMatch(/(?!\n)\p{Cc}|\p{Bidi_Control}/u);
    }
  });
});

describe('the process', () => {
  it('prints its version without loading more than it needs to end', async () => {
    const loaded = await loadedBy('--version');
    expect(loaded.map((url) => url.replace(/.*\/src\//, 'src/'))).toEqual([
      'src/main.ts',
      'src/commands/shared/exit-codes.ts',
      'src/package-root.ts',
    ]);
    const { version } = JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8'));
    for (const word of ['--version', '-v', '-V', 'version']) {
      const output = execFileSync(process.execPath, [main, word]).toString();
      expect([word, output]).toEqual([word, `gatewright ${version}\n`]);
    }
  });

  it('validates without loading the code for servers, databases and logs', async () => {
    const loaded = await loadedBy('validate', resolve(root, 'examples/1-quickstart'));
    const heavy = /node_modules\/(mysql2|kysely|pino|undici|umzug|jose|croner)\//;
    expect(loaded.some((url) => url.includes('node_modules/zod/'))).toBe(true);
    expect(loaded.filter((url) => heavy.test(url))).toEqual([]);
  });

  it('validates plain manifests without loading the engine for patterns or the code for sops', async () => {
    const loaded = await loadedBy(
      'validate',
      resolve(root, 'examples/1-quickstart/workspaces.yaml'),
    );
    expect(loaded.some((url) => url.includes('node_modules/js-yaml/'))).toBe(true);
    expect(loaded.filter((url) => /\/re2js\/|sops-file|sops-metadata/.test(url))).toEqual([]);
  });

  it('exits quietly when its reader disconnects', async () => {
    const child = spawnTestProcess([main, 'settings', '-o', 'json-schema'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.stdout.destroy();
    await once(child, 'close');
    expect(stderr).toBe('');
  });

  it('ends on a signal while it waits for standard input', async () => {
    const [stdout, stderr, controller] = [
      new PassThrough(),
      new PassThrough(),
      new AbortController(),
    ];
    const stdin = new Readable({ read: () => controller.abort() });
    const { signal } = controller;
    const outside = { stdin, stdout, stderr, signal, cwd: root };
    expect(await runCommandLine(['validate', '-'], outside)).toBe('interrupted');
    expect(textOf(stdout)).toBe('');
  });

  it.each([
    ['migrate', 'SIGINT', 130],
    ['serve', 'SIGTERM', 143],
    ['doctor', 'SIGINT', 130],
  ] as const)(
    'ends on a signal while %s waits for a database that never answers',
    async (command, signal, code) => {
      const sockets: Socket[] = [];
      const server = createServer((socket) => void sockets.push(socket));
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const { port } = server.address() as AddressInfo;
      const env = {
        ...process.env,
        DB_URL: `mysql://u:p@127.0.0.1:${port}/n`,
        GATEWRIGHT_MASTER_KEY: 'k'.repeat(44),
        PORT: '0',
        GATEWRIGHT_METRICS_PORT: '0',
      };
      const child = spawnTestProcess([main, command], {
        env,
        stdio: ['ignore', 'ignore', 'ignore'],
      });
      server.once('connection', () => child.kill(signal));
      expect(await once(child, 'exit')).toEqual([code, null]);
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  );
});
