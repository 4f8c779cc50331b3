/** Feedback figures of graphs and charts (docs/reference/analytics.md, Graphs and groups). */
import { formatTimestamp } from '../../../model/wire/timestamp.ts';
import type { FeedbackSums } from '../../../store/logs/feedback-sums.ts';
import { type RequestQueries, timeSteps } from './request-queries.ts';

/** Average weighted by the feedback's weights; null without feedback or weight. */
function averageOf({ weighted_units, weight_units }: FeedbackSums): number | null {
  return weight_units === 0 ? null : weighted_units / weight_units;
}

const nothing: FeedbackSums = { given: 0, weighted_units: 0, weight_units: 0, shared: [] };

/** Totals of the time range and of each step. */
async function sumsOverTime(questions: RequestQueries) {
  const [whole = nothing] = await questions.sumFeedback([]);
  const sums = await questions.sumFeedback([{ stepMs: questions.stepMs }]);
  const sumsByTime = new Map(sums.map((one) => [Number(one.shared[0]), one]));
  const points = timeSteps(questions, sumsByTime).map(({ at, sums: stepSums = nothing }) => {
    return {
      at: formatTimestamp(at),
      given: stepSums.given,
      average: averageOf(stepSums),
    };
  });
  return { given: whole.given, average: averageOf(whole), points };
}

async function scores(questions: RequestQueries): Promise<{ score: number; given: number }[]> {
  const sums = await questions.sumFeedback([], true);
  return sums.map(({ shared, given }) => ({ score: Number(shared[0]), given }));
}

async function models(questions: RequestQueries) {
  const sums = await questions.sumFeedback(['model']);
  return sums.map((one) => {
    return { model: String(one.shared[0] ?? ''), given: one.given, average: averageOf(one) };
  });
}

const totalOf = (some: readonly { readonly given: number }[]): number =>
  some.reduce((sum, { given }) => sum + given, 0);

type FeedbackGraph = Promise<{
  readonly summary: Record<string, number | null>;
  readonly data_points: Record<string, unknown>[];
}>;

const scoreGraph = async (questions: RequestQueries): FeedbackGraph => {
  const counts = await scores(questions);
  const data_points = counts.map(({ score, given }) => ({ score, total: given }));
  return { summary: { total: totalOf(counts) }, data_points };
};

/** Graphs of v1 by name. */
export const feedbackGraphs: Readonly<
  Record<string, (questions: RequestQueries) => FeedbackGraph>
> = {
  feedbacks: async (questions) => {
    const { given, points } = await sumsOverTime(questions);
    const data_points = points.map(({ at, given: total }) => ({ timestamp: at, total }));
    return { summary: { total: given }, data_points };
  },
  'feedbacks-weighted': async (questions) => {
    const { given, average, points } = await sumsOverTime(questions);
    const data_points = points.map(({ at, average: avg }) => ({ timestamp: at, avg }));
    return { summary: { avg: average, total: given }, data_points };
  },
  'feedbacks-ai-models': async (questions) => {
    const sumsByModel = await models(questions);
    const data_points = sumsByModel.map(({ model, given, average }) => {
      return { ai_model: model, total: given, avg: average };
    });
    return { summary: { total: totalOf(sumsByModel) }, data_points };
  },
  'feedbacks-score': scoreGraph,
  'feedbacks-scores': scoreGraph,
};

type FeedbackChart = Promise<Record<string, unknown>>;

/** Charts of v2 by name. */
export const feedbackCharts: Readonly<
  Record<string, (questions: RequestQueries) => FeedbackChart>
> = {
  'feedback-trend': async (questions) => {
    const { given, points } = await sumsOverTime(questions);
    return { records: points.map(({ at, given: y }) => ({ x: at, y })), total: given };
  },
  /** Steps without feedback have no average and are left out. */
  'feedback-weighted': async (questions) => {
    const { average, points } = await sumsOverTime(questions);
    const some = points.filter((point) => point.average !== null);
    return { records: some.map(({ at, average: y }) => ({ x: at, y })), total: average ?? 0 };
  },
  'feedback-score-distribution': async (questions) => {
    const counts = await scores(questions);
    const records = counts.map(({ score, given }) => ({ x: score, y: given }));
    return { records, total: totalOf(counts) };
  },
  'feedback-models': async (questions) => {
    const records = (await models(questions)).map(({ model, given, average }) => ({
      x: model,
      y: { avgWeightedFeedback: average ?? 0, feedbackCount: given },
    }));
    return { records };
  },
};
