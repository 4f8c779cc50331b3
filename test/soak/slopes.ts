/** Fits a line to samples and judges whether a figure grows, with a confidence interval. */

export interface Sample {
  readonly hours: number;
  readonly value: number;
}

export interface Slope {
  /** Growth an hour. */
  readonly perHour: number;
  /** Bounds of the confidence interval of 90 %: each is exceeded by chance in 5 % of runs. */
  readonly low: number;
  readonly high: number;
  /** Growth over the measured time, by the line. */
  readonly growth: number;
}

/** Samples that follow each other are alike, so that means of this many blocks are fitted instead. */
const blocks = 12;
/** Student's t for 95 % on one side with 10 degrees of freedom, those of 12 blocks. */
const studentT = 1.812;

/** Null for fewer samples than blocks. */
export function fitSlope(samples: readonly Sample[]): Slope | null {
  if (samples.length < blocks) return null;
  const points = blockMeans(samples);
  const meanX = mean(points.map(({ hours }) => hours));
  const meanY = mean(points.map(({ value }) => value));
  const spread = sum(points.map(({ hours }) => (hours - meanX) ** 2));
  const perHour = sum(points.map(({ hours, value }) => (hours - meanX) * (value - meanY))) / spread;
  const residual = sum(
    points.map(({ hours, value }) => (value - meanY - perHour * (hours - meanX)) ** 2),
  );
  const error = Math.sqrt(residual / (blocks - 2) / spread);
  const measured = samples.at(-1)!.hours - samples[0]!.hours;
  return {
    perHour,
    low: perHour - studentT * error,
    high: perHour + studentT * error,
    growth: perHour * measured,
  };
}

export interface GrowthLimit {
  /** Growth an hour that is allowed. */
  readonly perHour: number;
  /** Growth over the run below which the figure is not told from noise; decides in short runs. */
  readonly resolution: number;
}

/** Whether the figure grows: the whole interval is above the limit, and the growth is more than noise. */
export function isGrowing({ low, growth }: Slope, { perHour, resolution }: GrowthLimit): boolean {
  return low > perHour && growth > resolution;
}

/** Caches fill and code is compiled in the first ten minutes. */
const warmUpHoursMin = 1 / 6;

/** Samples after the first quarter of the time, and after ten minutes. */
export function afterWarmUp<T extends { readonly hours: number }>(samples: readonly T[]): T[] {
  const end = samples.at(-1)?.hours ?? 0;
  return samples.filter(({ hours }) => hours >= Math.max(end / 4, warmUpHoursMin));
}

function blockMeans(samples: readonly Sample[]): Sample[] {
  return Array.from({ length: blocks }, (_, at) => {
    const from = Math.floor((at * samples.length) / blocks);
    const block = samples.slice(from, Math.floor(((at + 1) * samples.length) / blocks));
    return {
      hours: mean(block.map(({ hours }) => hours)),
      value: mean(block.map(({ value }) => value)),
    };
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}
