/** Runs `npm run mutation`: StrykerJS over the given folders, or over the files that differ from main. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  compareSurvivors,
  type ExplainedSurvivor,
  type MutationReport,
  scoresOf,
} from './survivors.ts';

const root = resolve(import.meta.dirname, '../..');
const cache = '.cache/mutation';
const survivorsFile = 'scripts/mutation/survivors.json';
const usage = 'npm run mutation -- [FOLDERS OR FILES | --changed]';

/** The folders whose tests must notice changes. */
const folders = [
  'src/ledger',
  'src/guardrails',
  'src/auth',
  'src/jobs',
  'src/sync/plan',
  'src/sync/apply',
  'src/store/tables',
];
/** Per cent of the mutants that tests must notice. */
const scoreMin = 85;

/** Files of the folders that differ from the merge base with main. */
function changedFiles(): string[] {
  const git = (...words: string[]) => execFileSync('git', words, { cwd: root, encoding: 'utf8' });
  const base = git('merge-base', 'HEAD', 'main').trim();
  const changed = git('diff', '--name-only', '--diff-filter=d', base);
  return changed
    .split('\n')
    .filter((file) => file.endsWith('.ts') && folders.some((one) => file.startsWith(`${one}/`)));
}

function chosenFiles(words: readonly string[]): string[] {
  if (words.includes('--changed')) {
    if (words.length > 1) throw new Error(`--changed takes no folders; usage: ${usage}`);
    return changedFiles();
  }
  const missing = words.find((word) => !existsSync(join(root, word)));
  if (missing !== undefined) throw new Error(`${missing} does not exist; usage: ${usage}`);
  const named = words.length === 0 ? folders : words;
  return named.map((one) => (one.endsWith('.ts') ? one : `${one}/**/*.ts`));
}

/** The outer folders of files and patterns, whose tests have the same folders. */
function roomsOf(files: readonly string[]): string[] {
  return [...new Set(files.map((file) => file.split('/')[1]!))];
}

/** Runs Stryker; its own incremental file makes unchanged mutants free. */
function mutate(files: readonly string[]): MutationReport {
  const report = join(cache, 'report.json');
  const config = join(cache, 'stryker.json');
  mkdirSync(join(root, cache), { recursive: true });
  const options = {
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'vitest.mutation.config.ts', related: true },
    mutate: files,
    coverageAnalysis: 'perTest',
    incremental: true,
    incrementalFile: join(cache, 'incremental.json'),
    tempDirName: join(cache, 'sandbox'),
    reporters: ['clear-text', 'json'],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
    jsonReporter: { fileName: report },
    concurrency: 1,
    timeoutMS: 20_000,
    ignoreStatic: true,
    disableTypeChecks: false,
    // Stryker would rewrite tsconfig.json with an interface that TypeScript 7 does not have; nothing reads it here.
    tsconfigFile: 'no-tsconfig.json',
    ignorePatterns: ['/dist', '.cache'],
  };
  writeFileSync(join(root, config), JSON.stringify(options, null, 2));
  const program = join(root, 'node_modules/@stryker-mutator/core/bin/stryker.js');
  const { status } = spawnSync(process.execPath, [program, 'run', config], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, GATEWRIGHT_MUTATION_ROOMS: roomsOf(files).join(',') },
  });
  if (status !== 0) throw new Error(`stryker exited with ${status}`);
  return JSON.parse(readFileSync(join(root, report), 'utf8')) as MutationReport;
}

function judge(report: MutationReport): number {
  const explained = JSON.parse(
    readFileSync(join(root, survivorsFile), 'utf8'),
  ) as ExplainedSurvivor[];
  const { unexplained, outdated } = compareSurvivors(report, explained);
  for (const { file, mutant } of unexplained) console.log(`survived: ${file}: ${mutant}`);
  for (const { file, mutant } of outdated) console.log(`outdated reason: ${file}: ${mutant}`);
  const scores = scoresOf(report);
  for (const [name, score] of scores) console.log(`${name}: ${score.toFixed(1)} %`);
  const isLow = (scores.get('all') ?? 100) < scoreMin;
  if (isLow) console.log(`the score is below ${scoreMin} %`);
  if (unexplained.length > 0) {
    console.log(`write a test for each survivor, or a reason in ${survivorsFile}`);
  }
  return isLow || unexplained.length > 0 || outdated.length > 0 ? 1 : 0;
}

const files = chosenFiles(process.argv.slice(2));
if (files.length === 0) console.log('no file of the folders has changed');
else process.exitCode = judge(mutate(files));
