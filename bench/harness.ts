/** Compares processes fairly: targets alternate, CPU time decides, and results are ratios. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A command to measure. Output is discarded; an exit code outside `exitCodes` (default 0) is an error. */
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

/** One result of a member. `aim` is the largest ratio that meets the goal; null for information only. */
export interface Row {
  readonly metric: string;
  readonly ratio: number;
  readonly aim: number | null;
  /** The largest acceptable ratio, where it is above the aim. */
  readonly must?: number | null;
  /** The smallest acceptable ratio, for figures where more is better. */
  readonly least?: number;
  /** Lower and upper quartile of the rounds, where the ratio is a median of many. */
  readonly quartiles?: readonly [lower: number, upper: number];
}

export interface Member {
  readonly name: string;
  /** `scale` is the fraction of the full size, for members that take long; others ignore it. */
  readonly run: (scale: number, requested: MemberOptions) => Promise<Row[]>;
}

/** Command-line options that some members use. */
export interface MemberOptions {
  /** Stages of the member to run; null for all. */
  readonly stages: readonly string[] | null;
  /** Paths of `main.js` of other builds to compare with this one. */
  readonly builds: readonly string[];
  /** Node options for the gateway process; '' for none. */
  readonly nodeOptions: string;
}

export interface InterleavedResult {
  readonly measures: ReadonlyMap<string, Measure>;
  /** Share of CPU used by other processes, 0 to 1. Above 0.1, wall clock times are unreliable. */
  readonly otherCpuShare: number;
}

/**
 * Runs every target `runsPerRound` times in each of `rounds` rounds. Targets alternate within a round,
 * and a first warm-up round is discarded.
 */
export function interleave(
  targets: readonly Target[],
  rounds: number,
  runsPerRound: number,
): InterleavedResult {
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
    otherCpuShare: Math.max(0, others / Math.max(1, total)),
  };
}

/** Compares `name` with `base`: CPU with the aim, wall clock for information. */
export function ratioRows(
  result: InterleavedResult,
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
      throw new Error(`${target.name} exited with ${status}: ${stderr.toString().slice(0, 2000)}`);
    }
  }
  return {
    cpuMs: ((childTicks() - cpuBefore) * 1000) / ticksPerSecond / runs,
    wallMs: (performance.now() - started) / runs,
  };
}

/** Lower quartile, median and upper quartile. */
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

/** Fields of /proc/self/stat after the command name: 11-12 own time, 13-14 time of ended children. */
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
