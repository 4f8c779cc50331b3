/** Knows how to compare processes fairly: targets take turns, CPU time decides, only ratios are printed. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** One thing to run; its output is thrown away and a non-zero exit code outside `exitCodes` is an error. */
export interface Target {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly exitCodes?: readonly number[];
}

export interface Measure {
  /** User and system time of one run, median over rounds, milliseconds. */
  readonly cpuMs: number;
  /** Elapsed time of one run, median over rounds, milliseconds. */
  readonly wallMs: number;
}

/** One figure of a member. `aim` is the largest ratio we are content with; null for information only. */
export interface Row {
  readonly metric: string;
  readonly ratio: number;
  readonly aim: number | null;
  /** The largest that is good enough, where that is more than the aim. */
  readonly must?: number | null;
  /** The smallest that is good enough, of a figure of which more is better. */
  readonly least?: number;
  /** The quarter of rounds below which and above which a ratio lay, where it is a median of many. */
  readonly quartiles?: readonly [lower: number, upper: number];
}

export interface Member {
  readonly name: string;
  /** `scale` is the share of the full size, for members that take long at that; others ignore it. */
  readonly run: (scale: number, asked: Asked) => Promise<Row[]>;
}

/** What some members are asked for beside their figures. */
export interface Asked {
  /** Parts of a member that are wanted; null for all. */
  readonly stages: readonly string[] | null;
  /** `main.js` of other builds that take turns with this one. */
  readonly builds: readonly string[];
  /** Of Node, for our process alone; '' for none. */
  readonly nodeOptions: string;
}

export interface Interleaved {
  readonly measures: ReadonlyMap<string, Measure>;
  /** Share of the machine that other processes burned meanwhile, 0 to 1; wall time is noise above 0.1. */
  readonly neighbourShare: number;
}

/**
 * Runs every target `runsPerRound` times in each of `rounds` rounds, the targets alternating within
 * a round, after one round that is not counted.
 */
export function interleave(
  targets: readonly Target[],
  rounds: number,
  runsPerRound: number,
): Interleaved {
  const samples = new Map(targets.map((target) => [target.name, [] as Measure[]]));
  let machine = machineTicks();
  let own = ownTicks();
  for (let round = -1; round < rounds; round += 1) {
    if (round === 0) {
      machine = machineTicks();
      own = ownTicks();
    }
    for (const target of targets) {
      const measure = runBatch(target, runsPerRound);
      if (round >= 0) samples.get(target.name)!.push(measure);
    }
  }
  const busy = machineTicks();
  const total = busy.total - machine.total;
  const others = busy.busy - machine.busy - (ownTicks() - own);
  return {
    measures: new Map([...samples].map(([name, list]) => [name, medianMeasure(list)])),
    neighbourShare: Math.max(0, others / Math.max(1, total)),
  };
}

/** Ratio rows of `name` against `base`, CPU with the aim and wall clock for information. */
export function ratioRows(
  result: Interleaved,
  metric: string,
  name: string,
  base: string,
  aim: number | null,
): Row[] {
  const top = result.measures.get(name)!;
  const bottom = result.measures.get(base)!;
  return [
    { metric: `${metric}, CPU`, ratio: top.cpuMs / bottom.cpuMs, aim },
    { metric: `${metric}, wall clock`, ratio: top.wallMs / bottom.wallMs, aim: null },
  ];
}

const ticksPerSecond = 100;

function runBatch(target: Target, runs: number): Measure {
  const cpuBefore = childTicks();
  const started = performance.now();
  for (let run = 0; run < runs; run += 1) {
    const { status, stderr, error } = spawnSync(target.command, target.args, {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    if (error !== undefined) throw error;
    if (!(target.exitCodes ?? [0]).includes(status ?? -1)) {
      throw new Error(`${target.name} ended with ${status}: ${stderr.toString().slice(0, 2000)}`);
    }
  }
  return {
    cpuMs: ((childTicks() - cpuBefore) * 1000) / ticksPerSecond / runs,
    wallMs: (performance.now() - started) / runs,
  };
}

/** A quarter of the values lies below the first, a half below the second, a quarter above the third. */
export function quartilesOf(values: readonly number[]): [number, number, number] {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.round((sorted.length - 1) * share)]!;
  return [at(0.25), at(0.5), at(0.75)];
}

export function median(values: readonly number[]): number {
  return quartilesOf(values)[1];
}

function medianMeasure(list: readonly Measure[]): Measure {
  return {
    cpuMs: median(list.map((measure) => measure.cpuMs)),
    wallMs: median(list.map((measure) => measure.wallMs)),
  };
}

/** Fields after the command name of /proc/self/stat: 11-12 are our own time, 13-14 that of ended children. */
function statFields(): number[] {
  return readFileSync('/proc/self/stat', 'latin1').split(') ')[1]!.split(' ').map(Number);
}

function childTicks(): number {
  const fields = statFields();
  return fields[13]! + fields[14]!;
}

function ownTicks(): number {
  const fields = statFields();
  return fields[11]! + fields[12]! + fields[13]! + fields[14]!;
}

function machineTicks(): { busy: number; total: number } {
  const fields = readFileSync('/proc/stat', 'latin1')
    .split('\n')[0]!
    .split(/\s+/)
    .slice(1, 9)
    .map(Number);
  const total = fields.reduce((sum, value) => sum + value, 0);
  return { total, busy: total - fields[3]! - fields[4]! };
}
