/** Writes and reads result files of the benchmark: one JSON document for each member. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';

const root = resolve(import.meta.dirname, '../..');

const ResultRow = z.object({
  metric: z.string(),
  ratio: z.number(),
  aim: z.number().nullable(),
  must: z.number().nullish(),
  least: z.number().optional(),
  quartiles: z.tuple([z.number(), z.number()]).optional(),
});

const Machine = z.object({
  processor: z.string(),
  processors: z.int().positive(),
  memoryGib: z.number().positive(),
  kernel: z.string(),
  node: z.string(),
  /** Average number of running processes in the minute before, by processor. */
  loadPerProcessor: z.number().min(0),
});

const ResultFile = z.object({
  member: z.string(),
  /** Share of the full size, up to 1. */
  scale: z.number().positive().max(1),
  /** Null for all. */
  stages: z.array(z.string()).nullable(),
  version: z.string(),
  commit: z.string().regex(/^[0-9a-f]{40}$/),
  /** Whether the measured files differ from the commit. */
  isChanged: z.boolean(),
  measuredAt: z.iso.datetime(),
  machine: Machine,
  rows: z.array(ResultRow),
});

export type ResultRow = z.infer<typeof ResultRow>;
export type Machine = z.infer<typeof Machine>;
export type ResultFile = z.infer<typeof ResultFile>;

/** Other work takes too little of such a machine to change ratios. */
const quietLoadMax = 0.25;

export function isQuiet({ machine }: Pick<ResultFile, 'machine'>): boolean {
  return machine.loadPerProcessor <= quietLoadMax;
}

/** The machine with its load at this moment. */
export function describeMachine(): Machine {
  const list = cpus();
  return {
    processor: list[0]?.model.trim() || process.arch,
    processors: list.length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    kernel: `${process.platform} ${release()}`,
    node: process.versions.node,
    loadPerProcessor: Number((loadavg()[0]! / list.length).toFixed(2)),
  };
}

/** Replaces the file of the member. Returns its path. */
export function writeResult(
  folder: string,
  measured: Pick<ResultFile, 'member' | 'scale' | 'stages' | 'machine' | 'rows'>,
): string {
  const git = (...words: string[]): string =>
    execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim();
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const result: ResultFile = {
    ...measured,
    version,
    commit: git('rev-parse', 'HEAD'),
    isChanged: git('status', '--porcelain', '--', 'src', 'bench', 'package-lock.json') !== '',
    measuredAt: new Date().toISOString(),
  };
  mkdirSync(folder, { recursive: true });
  const name = measured.member.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  const path = join(folder, `${name}.json`);
  writeFileSync(path, `${JSON.stringify(ResultFile.parse(result), null, 2)}\n`);
  return path;
}

/** @throws Error that names the file which is no result */
export function readResults(folder: string): ResultFile[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => {
      const read = ResultFile.safeParse(JSON.parse(readFileSync(join(folder, name), 'utf8')));
      if (read.success) return read.data;
      const [issue] = read.error.issues;
      throw new Error(
        `${join(folder, name)} is no result: ${issue?.path.join('.')}: ${issue?.message}`,
      );
    });
}
